//! Logging in with a browser, for people and for `fly login` without a password.
//!
//! ```text
//! /login ─▶ /sky/login ─▶ /sky/issuer/auth (the form) ─▶ /sky/callback ─▶ where they wanted to go
//! ```
//!
//! What goes along in the address (`state`, `code`) is sealed, so that nobody can make or change it,
//! and tied to the browser by a cookie.

use airside_auth::Denied;
use airside_store::{Micros, now};
use axum::{
    Form, Router,
    extract::{Query, State},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, header::SET_COOKIE};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ApiState, cookies,
    error::{ApiError, Result},
    pages,
};

/// How long a login may take.
const HOUR: u64 = 3600;
const STATE: &str = "login state";
const CODE: &str = "login code";

pub(crate) fn router() -> Router<ApiState> {
    Router::new()
        .route("/login", get(login))
        .route("/logout", get(async || Redirect::permanent("/sky/logout")))
        .route("/sky/login", get(begin))
        .route("/sky/issuer/auth", get(form))
        .route("/sky/issuer/auth/local", get(form))
        .route("/sky/issuer/auth/local/login", post(submit))
        .route("/sky/callback", get(callback))
        .route("/fly_success", get(fly_success))
        .route("/robots.txt", get(async || "User-agent: *\nDisallow: /\n"))
}

/// Where a login began and where it leads.
#[derive(Serialize, Deserialize)]
struct Journey {
    to: String,
    nonce: String,
    until: Micros,
}

#[derive(Serialize, Deserialize)]
struct Code {
    token: String,
    seconds: u64,
    until: Micros,
}

fn seal(state: &ApiState, name: &str, value: &impl Serialize) -> String {
    let clear = serde_json::to_vec(value).expect("plain text is JSON");
    URL_SAFE_NO_PAD.encode(state.store.sealer().seal(name, &clear))
}

fn open<T: DeserializeOwned>(state: &ApiState, name: &str, sealed: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    serde_json::from_slice(&state.store.sealer().open(name, &bytes).ok()?).ok()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wanted {
    fly_port: Option<String>,
    redirect_uri: String,
    state: String,
    code: String,
    noop: Option<String>,
}

async fn login(Query(wanted): Query<Wanted>) -> Response {
    let to = match wanted.fly_port.as_deref().map(str::parse::<u16>) {
        Some(Ok(port)) => format!("/sky/login?redirect_uri=%2Ffly_success%3Ffly_port%3D{port}"),
        Some(Err(_)) => {
            let why = "the port that fly listens on is not a number".to_owned();
            return ApiError::BadRequest(why).into_response();
        }
        None => "/sky/login".to_owned(),
    };
    redirect(StatusCode::FOUND, &to)
}

/// Straight on for whoever is logged in; else to the form.
async fn begin(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Result<Response> {
    let to = safe_path(&wanted.redirect_uri)
        .ok_or_else(|| ApiError::BadRequest("redirect_uri is not a path here".to_owned()))?;
    if let Some(token) = cookies::token(&headers)
        && state.auth.authenticate(token).await?.is_some()
    {
        let seconds = state.auth.duration().as_secs();
        return Ok(arrive(&state, token, seconds, &to));
    }
    let nonce = random_hex();
    let until = now().plus(std::time::Duration::from_secs(HOUR));
    let journey = Journey {
        to,
        nonce: nonce.clone(),
        until,
    };
    let sealed = seal(&state, STATE, &journey);
    let cookie = [(SET_COOKIE, cookies::login(&nonce, HOUR, state.is_secure()))];
    let onwards = redirect(
        StatusCode::TEMPORARY_REDIRECT,
        &format!("/sky/issuer/auth?client_id=concourse-web&state={sealed}"),
    );
    Ok((AppendHeaders(cookie), onwards).into_response())
}

/// The journey that a sealed state tells of, if this browser is the one that began it.
fn journey(state: &ApiState, headers: &HeaderMap, sealed: &str) -> Option<Journey> {
    let journey: Journey = open(state, STATE, sealed)?;
    let same = cookies::login_nonce(headers) == Some(journey.nonce.as_str());
    (same && journey.until > now()).then_some(journey)
}

fn lost() -> Response {
    let why = "This login took too long or began in another browser. Begin again at /login.";
    (StatusCode::BAD_REQUEST, pages::message("Log in again", why)).into_response()
}

async fn form(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Response {
    match journey(&state, &headers, &wanted.state) {
        Some(_) => pages::login(&wanted.state, None),
        None => lost(),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Submitted {
    login: String,
    password: String,
    state: String,
}

async fn submit(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Form(submitted): Form<Submitted>,
) -> Result<Response> {
    if journey(&state, &headers, &submitted.state).is_none() {
        return Ok(lost());
    }
    let issued = match state
        .auth
        .login(&submitted.login, &submitted.password)
        .await
    {
        Ok(issued) => issued,
        Err(Denied::Store(error)) => return Err(error.into()),
        Err(denied) => {
            let status = match denied {
                Denied::TooManyTries { .. } => StatusCode::TOO_MANY_REQUESTS,
                _ => StatusCode::UNAUTHORIZED,
            };
            let page = pages::login(&submitted.state, Some(&denied.to_string()));
            return Ok((status, page).into_response());
        }
    };
    let code = Code {
        token: issued.token,
        seconds: issued.expires_in.as_secs(),
        until: now().plus(std::time::Duration::from_secs(60)),
    };
    let (code, sealed) = (seal(&state, CODE, &code), submitted.state);
    let to = format!("/sky/callback?code={code}&state={sealed}");
    Ok(redirect(StatusCode::SEE_OTHER, &to))
}

async fn callback(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Response {
    let journey = journey(&state, &headers, &wanted.state);
    let code: Option<Code> = open(&state, CODE, &wanted.code);
    match (journey, code) {
        (Some(journey), Some(code)) if code.until > now() => {
            arrive(&state, &code.token, code.seconds, &journey.to)
        }
        _ => lost(),
    }
}

/// Sets the cookies and goes where they wanted to go, which is told the second cookie's value.
fn arrive(state: &ApiState, token: &str, seconds: u64, to: &str) -> Response {
    let csrf = random_hex();
    let secure = state.is_secure();
    let cookies =
        cookies::signed_in(token, &csrf, seconds, secure).map(|value| (SET_COOKIE, value));
    let separator = if to.contains('?') { '&' } else { '?' };
    let onwards = redirect(
        StatusCode::TEMPORARY_REDIRECT,
        &format!("{to}{separator}csrf_token={csrf}"),
    );
    (AppendHeaders(cookies), onwards).into_response()
}

async fn fly_success(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Result<Response> {
    if wanted.noop.is_some() {
        return Ok(pages::message(
            "Logged in",
            "fly is logged in; close this page.",
        ));
    }
    let token = cookies::token(&headers).ok_or(ApiError::Unauthenticated)?;
    if state.auth.authenticate(token).await?.is_none() {
        return Err(ApiError::Unauthenticated);
    }
    let port = wanted.fly_port.and_then(|port| port.parse().ok());
    Ok(pages::fly_success(port, token))
}

/// A path on this server and nothing else, however often it is escaped.
fn safe_path(given: &str) -> Option<String> {
    let mut seen = given.to_owned();
    for _ in 0..5 {
        if seen.contains('\\') || seen.chars().any(char::is_control) {
            return None;
        }
        let next = unescape(&seen)?;
        if next == seen {
            break;
        }
        seen = next;
    }
    if seen.contains('\\') || seen.contains("://") || seen.starts_with("//") {
        return None;
    }
    let path = given.trim_start_matches('/');
    let printable = path.chars().all(|c| c.is_ascii_graphic());
    printable.then(|| format!("/{path}"))
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn redirect(status: StatusCode, to: &str) -> Response {
    (status, [(http::header::LOCATION, to.to_owned())]).into_response()
}

fn random_hex() -> String {
    let bytes: [u8; 32] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::safe_path;

    #[test]
    fn a_login_leads_nowhere_but_here() {
        assert_eq!(safe_path("").as_deref(), Some("/"));
        assert_eq!(
            safe_path("/fly_success?fly_port=1").as_deref(),
            Some("/fly_success?fly_port=1")
        );
        assert_eq!(safe_path("teams/a").as_deref(), Some("/teams/a"));
        for bad in [
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "%2f%2fevil.example",
            "%252f%252fevil.example",
            "/%5cevil.example",
            "/a\r\nset-cookie: x=y",
            "/%0d%0ax",
            "/%zz",
        ] {
            assert_eq!(safe_path(bad), None, "{bad}");
        }
    }
}
