//! The registry of images, on a listener of its own: what it serves and to whom is its own business.

use airside_registry::Registry;
use axum::{Router, body::Body, extract::Request};

pub fn registry_router(registry: Registry) -> Router {
    Router::new().fallback(move |request: Request| {
        let registry = registry.clone();
        async move { registry.answer(request).await.map(Body::new) }
    })
}
