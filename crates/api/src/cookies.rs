//! The cookies of a browser that has logged in.

use http::{HeaderMap, HeaderValue, header::COOKIE};

const AUTH: &str = "skymarshal_auth";
const CSRF: &str = "skymarshal_csrf";
/// Ties a login under way to the browser in which it began.
const LOGIN: &str = "airside_login";

/// Both are kept from scripts; the second is also given to the page, which proves with it that a
/// request was meant.
pub(crate) fn signed_in(token: &str, csrf: &str, seconds: u64, secure: bool) -> [HeaderValue; 2] {
    [
        header(AUTH, &format!("bearer {token}"), seconds, "/", secure),
        header(CSRF, csrf, seconds, "/", secure),
    ]
}

pub(crate) fn cleared() -> [HeaderValue; 2] {
    [AUTH, CSRF].map(|name| header(name, "", 0, "/", false))
}

pub(crate) fn login(nonce: &str, seconds: u64, secure: bool) -> HeaderValue {
    header(LOGIN, nonce, seconds, "/sky", secure)
}

/// A login that has ended cannot be ended again.
pub(crate) fn login_ended() -> HeaderValue {
    header(LOGIN, "", 0, "/sky", false)
}

fn header(name: &str, value: &str, seconds: u64, path: &str, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    // A value with a space in it is quoted, as Go does.
    let quote = if value.contains(' ') { "\"" } else { "" };
    let text = format!(
        "{name}={quote}{value}{quote}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    );
    HeaderValue::try_from(text).expect("tokens are plain ASCII")
}

/// The token that the browser shows.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = get(headers, AUTH)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

pub(crate) fn login_nonce(headers: &HeaderMap) -> Option<&str> {
    get(headers, LOGIN)
}

/// Whether the page that made the request knows the second cookie's value.
pub(crate) fn csrf_is_proven(headers: &HeaderMap) -> bool {
    let shown = headers
        .get("x-csrf-token")
        .and_then(|value| value.to_str().ok());
    matches!((shown, get(headers, CSRF)), (Some(shown), Some(kept)) if !kept.is_empty() && shown == kept)
}

fn get<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter();
    let cookies = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    cookies
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"'))
}
