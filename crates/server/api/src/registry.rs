//! The registry of images, on a listener of its own: it authorizes its requests itself.

use airside_registry::Registry;
use axum::{Router, body::Body, extract::Request};

pub fn registry_router(registry: Registry) -> Router {
    Router::new().fallback(move |request: Request| {
        let registry = registry.clone();
        async move { registry.answer(request).await.map(Body::new) }
    })
}
