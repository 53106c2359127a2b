//! Logging in as `fly login -u -p` does: an OAuth password grant, with errors as its issuer words
//! them. These routes need no token, so they stand outside the table of actions.

use airside_auth::{Denied, Issued};
use axum::{
    Form, Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, RETRY_AFTER, SET_COOKIE},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    ApiState, audit, cookies,
    error::{ApiError, Result},
    guard::bearer,
    pages,
    serve::CameFrom,
};

/// The one client, which is public: it is `fly` that says so, not a secret.
const CLIENT: (&str, &str) = ("fly", "Zmx5");

const TOKEN: &str = "/sky/issuer/token";
const LOGOUT: &str = "/sky/logout";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Grant {
    grant_type: String,
    username: String,
    password: String,
    client_id: String,
    client_secret: String,
}

pub(crate) fn router() -> Router<ApiState> {
    Router::new()
        .route(TOKEN, post(token))
        .route(LOGOUT, get(logout).post(logout_meant))
}

async fn token(
    State(state): State<ApiState>,
    from: CameFrom,
    headers: HeaderMap,
    form: std::result::Result<Form<Grant>, axum::extract::rejection::FormRejection>,
) -> Response {
    let Ok(Form(grant)) = form else {
        return refused(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "the body is not a form",
        );
    };
    let client =
        basic(&headers).unwrap_or_else(|| (grant.client_id.clone(), grant.client_secret.clone()));
    if client != (CLIENT.0.to_owned(), CLIENT.1.to_owned()) {
        return refused(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "Invalid client credentials.",
        );
    }
    if grant.grant_type != "password" {
        let why = "only the password grant is supported";
        return refused(StatusCode::BAD_REQUEST, "unsupported_grant_type", why);
    }
    let login = audit::Login {
        connector: state.auth.connector_of(&grant.username),
        user: &grant.username,
        path: TOKEN,
        from,
    };
    let tried = state
        .auth
        .login(&grant.username, &grant.password, from.peer())
        .await;
    login.ended(tried.as_ref().err());
    answer(tried)
}

/// Returns the answer to a login in OAuth's form, as `fly` reads it.
fn answer(tried: Result<Issued, Denied>) -> Response {
    match tried {
        Ok(issued) => Json(json!({
            "access_token": issued.token,
            "token_type": "bearer",
            "expires_in": issued.expires_in.as_secs(),
        }))
        .into_response(),
        Err(denied @ Denied::WrongPassword) => refused(
            StatusCode::UNAUTHORIZED,
            "access_denied",
            &denied.to_string(),
        ),
        Err(denied @ Denied::TooManyTries { retry_after }) => {
            let text = denied.to_string();
            let mut response = refused(StatusCode::TOO_MANY_REQUESTS, "access_denied", &text);
            let seconds = HeaderValue::from(retry_after.as_secs() + 1);
            response.headers_mut().insert(RETRY_AFTER, seconds);
            response
        }
        Err(denied @ Denied::Directory(_)) => refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "temporarily_unavailable",
            &denied.to_string(),
        ),
        Err(Denied::Store(error)) => ApiError::from(error).into_response(),
    }
}

fn refused(status: StatusCode, error: &str, description: &str) -> Response {
    (
        status,
        Json(json!({"error": error, "error_description": description})),
    )
        .into_response()
}

fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let (scheme, encoded) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, secret) = decoded.split_once(':')?;
    Some((name.to_owned(), secret.to_owned()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meant {
    csrf_token: String,
}

/// Logs out those who mean it: fly, which shows nothing but its token, and this server's own pages.
/// A browser that was led here from elsewhere is asked first.
async fn logout(
    State(state): State<ApiState>,
    from: CameFrom,
    headers: HeaderMap,
) -> Result<Response> {
    if bearer(&headers).is_none() && cookies::is_browser(&headers) && !cookies::is_own(&headers) {
        let token = cookies::token(&headers).ok_or(ApiError::Unauthenticated)?;
        let known = state.auth.authenticate(token).await?;
        known.ok_or(ApiError::Unauthenticated)?;
        return Ok(pages::logout(cookies::csrf(&headers).unwrap_or_default()));
    }
    leave(&state, from, &headers).await
}

/// Logs out a browser that was asked.
async fn logout_meant(
    State(state): State<ApiState>,
    from: CameFrom,
    headers: HeaderMap,
    Form(meant): Form<Meant>,
) -> Result<Response> {
    if !cookies::is_csrf(&headers, &meant.csrf_token) {
        return Err(ApiError::Unauthenticated);
    }
    leave(&state, from, &headers).await
}

/// Forgets the token that the cookie (or a bearer header) shows, and the cookies themselves.
async fn leave(state: &ApiState, from: CameFrom, headers: &HeaderMap) -> Result<Response> {
    let token = bearer(headers).or_else(|| cookies::token(headers));
    let token = token.ok_or(ApiError::Unauthenticated)?;
    let principal = state.auth.authenticate(token).await?;
    let principal = principal.ok_or(ApiError::Unauthenticated)?;
    state.auth.logout(token).await?;
    audit::logged_out(&principal, LOGOUT, from);
    let cleared = cookies::cleared().map(|value| (SET_COOKIE, value));
    let cleared = axum::response::AppendHeaders(cleared);
    // fly shows what the body says.
    Ok(
        if bearer(headers).is_none() && cookies::is_browser(headers) {
            (cleared, pages::logged_out()).into_response()
        } else {
            cleared.into_response()
        },
    )
}
