//! The cookies of a browser that has logged in.

use http::{HeaderMap, HeaderValue, header::COOKIE};

/// A browser says with it what kind of page made the request.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

const AUTH: &str = "skymarshal_auth";
const CSRF: &str = "skymarshal_csrf";
/// Ties a login under way to the browser in which it began.
const LOGIN: &str = "airside_login";
/// Written by a page's script, so that the next page comes in the chosen colours at once.
const THEME: &str = "airside_theme";

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

/// Returns true if the page that made the request knows the second cookie's value.
pub(crate) fn csrf_is_proven(headers: &HeaderMap) -> bool {
    let shown = headers
        .get("x-csrf-token")
        .and_then(|value| value.to_str().ok());
    shown.is_some_and(|shown| is_csrf(headers, shown))
}

/// Returns true if this is the second cookie's value.
pub(crate) fn is_csrf(headers: &HeaderMap, shown: &str) -> bool {
    csrf(headers).is_some_and(|kept| kept == shown)
}

pub(crate) fn csrf(headers: &HeaderMap) -> Option<&str> {
    get(headers, CSRF).filter(|kept| !kept.is_empty())
}

/// Returns the name of the colours that the viewer chose.
pub(crate) fn theme(headers: &HeaderMap) -> Option<&str> {
    get(headers, THEME)
}

/// Returns true if a browser asks: it has both cookies, or says where it was led here from.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    csrf(headers).is_some() || headers.contains_key(SEC_FETCH_SITE)
}

/// Returns true if a page of this very server asks.
pub(crate) fn is_own(headers: &HeaderMap) -> bool {
    headers
        .get(SEC_FETCH_SITE)
        .is_some_and(|site| site == "same-origin")
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
