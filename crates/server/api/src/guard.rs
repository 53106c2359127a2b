//! The one place that enforces [`airside_auth::authorize`].

use std::time::Instant;

use airside_auth::{Action, Decision, Method as Verb, Principal, RequiredAccess, authorize};
use airside_store::InstanceVars;
use axum::{
    extract::{Query, RawPathParams, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, Uri, header::AUTHORIZATION};
use tracing::info;

use crate::{
    ApiState, cookies,
    error::{ApiError, Result},
    journey::redirect,
    scope::{PathNames, RequestPath, RequestScope, ScopeObjects},
    serve::CameFrom,
    web::PageVisit,
};

/// Finds out who asks and about what, and lets the request pass only if they may. Counts every
/// request, and writes who changed what to the audit log.
pub(crate) async fn guard(
    State((state, action)): State<(ApiState, Action)>,
    params: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    guarded(&state, action, &params, request, next).await
}

/// Does what [`guard`] does in front of a page: what is refused is a page for people, or the way to
/// the login.
pub(crate) async fn guard_page(
    State((state, action)): State<(ApiState, Action)>,
    params: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let visit = PageVisit::new(&request);
    if let Some(address) = visit.without_proof() {
        return redirect(StatusCode::SEE_OTHER, &address);
    }
    let response = guarded(&state, action, &params, request, next).await;
    visit.explained(response)
}

async fn guarded(
    state: &ApiState,
    action: Action,
    params: &RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let path = request.uri().path().to_owned();
    let address = CameFrom::of(&request);
    let mut user = String::new();
    let passing = pass(state, action, params, request, next, &mut user);
    let passed = airside_tasks::caught("API request", passing).await;
    let passed = passed.unwrap_or(Err(ApiError::FAULT));
    let response = passed.unwrap_or_else(IntoResponse::into_response);
    let (method, status) = (action.method().as_str(), response.status().as_u16());
    state
        .metrics
        .responded(method, action.name(), status, began.elapsed());
    if action.method() != Verb::Get {
        info!(target: "audit", user, action = action.name(), path, status, %address, "api call");
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
        RequiredAccess::Public => None,
        _ => authenticate(state, request.method(), request.headers()).await?,
    };
    if let Some(principal) = &principal {
        *user = principal.display_user_id().to_owned();
    }
    let pairs = pairs(request.uri())?;
    let names = PathNames(params.iter().collect());
    let vars = match names.get("pipeline_name") {
        Some(_) => instance_vars(&pairs)?,
        None => InstanceVars::default(),
    };
    let worker = pairs.iter().find(|(key, _)| key == "worker_name");
    let by_worker = matches!(action.access(), RequiredAccess::WorkerTeam(_));
    let asked = RequestPath {
        names,
        vars: vars.clone(),
        worker: worker.map(|(_, name)| name.as_str()).filter(|_| by_worker),
    };
    let mut found = ScopeObjects::resolve(&state.store, &asked).await?;
    // There is no team to ask about a build that does not exist.
    if asked.names.get("build_id").is_some() && !found.has_build() && principal.is_some() {
        return Err(ApiError::NotFound);
    }
    match authorize(action, principal.as_ref(), found.target()) {
        Decision::Allow => {}
        Decision::Unauthenticated => return Err(ApiError::Unauthenticated),
        Decision::Forbidden => return Err(ApiError::Forbidden),
    }
    found.principal = principal;
    found.vars = vars;
    found.hide_people();
    request.extensions_mut().insert(RequestScope::new(found));
    Ok(next.run(request).await)
}

/// Returns the variables that tell pipelines of one name apart; none if the query has none.
pub(crate) fn instance_vars(pairs: &[(String, String)]) -> Result<InstanceVars> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let vars = airside_vars::InstanceVars::from_query(pairs).map_err(|error| {
        ApiError::BadRequest(format!(
            "malformed instance vars: {}",
            airside_model::chain(&error)
        ))
    })?;
    Ok(vars.map_or_else(InstanceVars::default, |vars| InstanceVars::new(vars.0)))
}

fn pairs(uri: &Uri) -> Result<Vec<(String, String)>> {
    let read = Query::try_from_uri(uri);
    let Query(pairs) = read.map_err(|_| {
        let why = "the query cannot be read: it must be `name=value` pairs joined by `&`";
        ApiError::BadRequest(why.to_owned())
    })?;
    Ok(pairs)
}

/// Returns the holder of the token that the request shows, in a header or else in a cookie. A bad
/// token is refused even where none is needed. A browser sends a cookie by itself, so a request
/// that uses it to change something proves with a second token that the user meant to.
pub(crate) async fn authenticate(
    state: &ApiState,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Option<Principal>> {
    let token = if headers.contains_key(AUTHORIZATION) {
        bearer(headers).ok_or(ApiError::Unauthenticated)?
    } else if let Some(token) = cookies::token(headers) {
        let harmless = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if !harmless && !cookies::csrf_is_proven(headers) {
            return Err(ApiError::Unauthenticated);
        }
        token
    } else {
        return Ok(None);
    };
    let principal = state.auth.authenticate(token).await?;
    principal.map(Some).ok_or(ApiError::Unauthenticated)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
