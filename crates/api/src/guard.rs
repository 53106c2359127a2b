//! The one place that enforces [`airside_auth::authorize`].

use std::time::Instant;

use airside_auth::{Access, Action, Decision, Method, Principal, authorize};
use axum::{
    extract::{RawPathParams, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header::AUTHORIZATION};
use tracing::info;

use crate::{
    ApiState,
    error::{ApiError, Result},
    scope::{Found, PathNames, Scope},
};

/// Finds out who asks and about what, and lets the request pass only if they may. Counts every
/// request, and writes who changed what to the audit log.
pub(crate) async fn guard(
    State((state, action)): State<(ApiState, Action)>,
    params: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let path = request.uri().path().to_owned();
    let mut user = String::new();
    let passed = pass(&state, action, &params, request, next, &mut user).await;
    let response = passed.unwrap_or_else(IntoResponse::into_response);
    let (method, status) = (action.method().as_str(), response.status().as_u16());
    state
        .metrics
        .responded(method, action.name(), status, began.elapsed());
    if action.method() != Method::Get {
        info!(target: "audit", user, action = action.name(), path, status, "api call");
    }
    response
}

async fn pass(
    state: &ApiState,
    action: Action,
    params: &RawPathParams,
    mut request: Request,
    next: Next,
    user: &mut String,
) -> Result<Response> {
    let principal = match action.access() {
        Access::Public => None,
        _ => authenticate(state, request.headers()).await?,
    };
    if let Some(principal) = &principal {
        *user = principal.display_user_id().to_owned();
    }
    refuse_instance_vars(request.uri().query())?;
    let names = PathNames(params.iter().collect());
    let mut found = Found::resolve(&state.store, &names).await?;
    // There is no team to ask about a build that does not exist.
    if names.get("build_id").is_some() && !found.has_build() && principal.is_some() {
        return Err(ApiError::NotFound);
    }
    match authorize(action, principal.as_ref(), found.target()) {
        Decision::Allow => {}
        Decision::Unauthenticated => return Err(ApiError::Unauthenticated),
        Decision::Forbidden => return Err(ApiError::Forbidden),
    }
    found.principal = principal;
    request.extensions_mut().insert(Scope::new(found));
    Ok(next.run(request).await)
}

/// Whose token the request shows. A bad token is refused even where none is needed.
async fn authenticate(state: &ApiState, headers: &HeaderMap) -> Result<Option<Principal>> {
    if !headers.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    let token = bearer(headers).ok_or(ApiError::Unauthenticated)?;
    let principal = state.auth.authenticate(token).await?;
    principal.map(Some).ok_or(ApiError::Unauthenticated)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Instanced pipelines share a name: answering for another one of them would be wrong.
fn refuse_instance_vars(query: Option<&str>) -> Result<()> {
    let instanced = query.unwrap_or_default().split('&').any(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        key == "vars" || key.starts_with("vars.")
    });
    match instanced {
        true => Err(ApiError::NotImplemented(
            "a pipeline with instance vars".to_owned(),
        )),
        false => Ok(()),
    }
}
