//! Logging in with a browser, for people and for `fly login` without a password.
//!
//! ```text
//! /login ─▶ /sky/login ─▶ /sky/issuer/auth (the form) ─▶ /sky/callback ─▶ where they wanted to go
//! ```
//!
//! The parameters of the address (`state`, `code`) are sealed, so that no caller can make or change
//! them, and tied to the browser by a cookie.

use airside_auth::Denied;
use axum::{
    Form, Router,
    extract::{Query, State},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use http::{HeaderMap, StatusCode, header::SET_COOKIE};
use serde::Deserialize;

use crate::{
    ApiState, audit, cookies,
    error::{ApiError, Result},
    journey::{Arrival, Code, Journey, lost, redirect},
    pages,
    serve::CameFrom,
    web,
};

const FORM: &str = "/sky/issuer/auth/local/login";

pub(crate) fn router() -> Router<ApiState> {
    Router::new()
        .route("/login", get(login))
        .route("/logout", get(async || Redirect::permanent("/sky/logout")))
        .route("/sky/login", get(begin))
        .route("/sky/issuer/auth", get(form))
        .route("/sky/issuer/auth/local", get(form))
        .route(FORM, post(submit))
        .route("/sky/callback", get(callback))
        .route("/fly_success", get(fly_success))
        .route("/robots.txt", get(async || "User-agent: *\nDisallow: /\n"))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginQuery {
    fly_port: Option<String>,
    redirect_uri: String,
    state: String,
    code: String,
    noop: Option<String>,
}

async fn login(Query(wanted): Query<LoginQuery>) -> Response {
    let to = match wanted.fly_port.as_deref().map(str::parse::<u16>) {
        Some(Ok(port)) => format!("/sky/login?redirect_uri=%2Ffly_success%3Ffly_port%3D{port}"),
        Some(Err(_)) => {
            let why = "the port that fly listens on is not a number".to_owned();
            return ApiError::BadRequest(why).into_response();
        }
        None if wanted.redirect_uri.is_empty() => "/sky/login".to_owned(),
        None => web::login_url(&wanted.redirect_uri),
    };
    redirect(StatusCode::FOUND, &to)
}

/// Goes straight on if the user is logged in; else to the form.
async fn begin(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<LoginQuery>,
) -> Result<Response> {
    let to = safe_path(&wanted.redirect_uri).ok_or_else(|| {
        ApiError::BadRequest("redirect_uri is not a path of this server".to_owned())
    })?;
    if let Some(token) = cookies::token(&headers)
        && state.auth.authenticate(token).await?.is_some()
    {
        let seconds = state.auth.duration().as_secs();
        return Ok(Arrival::new(&state, token, seconds, &to).go());
    }
    let (journey, cookie) = Journey::begin(&state, to);
    let sealed = journey.sealed(&state);
    let onwards = redirect(
        StatusCode::TEMPORARY_REDIRECT,
        &format!("/sky/issuer/auth?client_id=concourse-web&state={sealed}"),
    );
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), onwards).into_response())
}

async fn form(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<LoginQuery>,
) -> Response {
    match Journey::resume(&state, &headers, &wanted.state) {
        Some(journey) => login_page(&state, &wanted.state, &journey, None),
        None => lost(),
    }
}

/// `tried` is the name that was typed and why it was not let in.
fn login_page(
    state: &ApiState,
    sealed: &str,
    journey: &Journey,
    tried: Option<(&str, &str)>,
) -> Response {
    let mut choices = pages::Choices {
        is_for_fly: journey.to.starts_with("/fly_success?fly_port="),
        passwords: state.auth.takes_passwords(),
        directory: state.connectors.directory_title().map(str::to_owned),
        providers: Vec::new(),
    };
    for connector in state.connectors.redirecting() {
        let name = connector.connector().as_str();
        choices.providers.push((name, connector.title().to_owned()));
    }
    pages::login(sealed, choices, tried)
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
    from: CameFrom,
    headers: HeaderMap,
    Form(submitted): Form<Submitted>,
) -> Result<Response> {
    let Some(journey) = Journey::resume(&state, &headers, &submitted.state) else {
        return Ok(lost());
    };
    let Submitted {
        login: name,
        password,
        state: sealed,
    } = submitted;
    let login = audit::Login {
        connector: state.auth.connector_of(&name),
        user: &name,
        path: FORM,
        from,
    };
    let tried = state.auth.login(&name, &password, from.peer()).await;
    login.ended(tried.as_ref().err());
    let denied = match tried {
        Ok(issued) => return Ok(Code::redirect(&state, issued, &sealed)),
        Err(Denied::Store(error)) => return Err(error.into()),
        Err(denied) => denied,
    };
    let status = match denied {
        Denied::TooManyTries { .. } => StatusCode::TOO_MANY_REQUESTS,
        Denied::Directory(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNAUTHORIZED,
    };
    let why = denied.to_string();
    let page = login_page(&state, &sealed, &journey, Some((&name, &why)));
    Ok((status, page).into_response())
}

/// The handler at which every login ends.
async fn callback(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<LoginQuery>,
) -> Result<Response> {
    let journey = Journey::resume(&state, &headers, &wanted.state);
    let (Some(journey), Some(code)) = (journey, Code::open(&state, &wanted.code)) else {
        return Ok(lost());
    };
    let Some(principal) = state.auth.authenticate(&code.token).await? else {
        return Ok(lost());
    };
    let arrival = Arrival::new(&state, &code.token, code.seconds, &journey.to);
    if principal.is_in_a_team() {
        return Ok(arrival.go());
    }
    let page = pages::no_team(&principal, &arrival.to);
    Ok(arrival.with(page))
}

async fn fly_success(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Query(wanted): Query<LoginQuery>,
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
