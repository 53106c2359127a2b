//! A login under way: what it carries in addresses, and how that is kept from being made up,
//! changed, used twice or used in another browser.

use airside_store::{Micros, now};
use axum::response::{AppendHeaders, IntoResponse, Response};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, header::SET_COOKIE};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{ApiState, cookies, pages};

/// The longest time that a login may take, in seconds.
pub(crate) const HOUR: u64 = 3600;
/// The longest time that the last redirect may take, in seconds.
const MINUTE: u64 = 60;

/// The kinds of sealed values: each opens only as its own kind.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Journey,
    Away,
    Code,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Journey => "login state",
            Self::Away => "login away",
            Self::Code => "login code",
        }
    }
}

pub(crate) fn seal(state: &ApiState, kind: Kind, value: &impl Serialize) -> String {
    let clear = serde_json::to_vec(value).expect("plain text is JSON");
    URL_SAFE_NO_PAD.encode(state.store.sealer().seal(kind.name(), &clear))
}

pub(crate) fn open<T: DeserializeOwned>(state: &ApiState, kind: Kind, sealed: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    serde_json::from_slice(&state.store.sealer().open(kind.name(), &bytes).ok()?).ok()
}

/// The begin of a login and the page that it leads to.
#[derive(Serialize, Deserialize)]
pub(crate) struct Journey {
    pub(crate) to: String,
    nonce: String,
    until: Micros,
}

impl Journey {
    /// Begins one in this browser, which gets the cookie.
    pub(crate) fn begin(state: &ApiState, to: String) -> (Self, http::HeaderValue) {
        let nonce = random_hex();
        let cookie = cookies::login(&nonce, HOUR, state.is_secure());
        let until = now().plus(std::time::Duration::from_secs(HOUR));
        (Self { to, nonce, until }, cookie)
    }

    /// Returns true if this browser is the one that began it, not long ago.
    pub(crate) fn is_of(&self, headers: &HeaderMap) -> bool {
        let same = cookies::login_nonce(headers) == Some(self.nonce.as_str());
        same && self.until > now()
    }

    /// The journey that a sealed state tells of, if it is this browser's.
    pub(crate) fn resume(state: &ApiState, headers: &HeaderMap, sealed: &str) -> Option<Self> {
        let journey: Self = open(state, Kind::Journey, sealed)?;
        journey.is_of(headers).then_some(journey)
    }

    pub(crate) fn sealed(&self, state: &ApiState) -> String {
        seal(state, Kind::Journey, self)
    }
}

/// A token on its way from where it was made to where it becomes a cookie.
#[derive(Serialize, Deserialize)]
pub(crate) struct Code {
    pub(crate) token: String,
    pub(crate) seconds: u64,
    until: Micros,
}

impl Code {
    /// Leads a browser that has logged in to the place where all logins end.
    pub(crate) fn redirect(
        state: &ApiState,
        issued: airside_auth::Issued,
        sealed_journey: &str,
    ) -> Response {
        let code = Self {
            token: issued.token,
            seconds: issued.expires_in.as_secs(),
            until: now().plus(std::time::Duration::from_secs(MINUTE)),
        };
        let code = seal(state, Kind::Code, &code);
        let to = format!("/sky/callback?code={code}&state={sealed_journey}");
        redirect(StatusCode::SEE_OTHER, &to)
    }

    pub(crate) fn open(state: &ApiState, sealed: &str) -> Option<Self> {
        let code: Self = open(state, Kind::Code, sealed)?;
        (code.until > now()).then_some(code)
    }
}

pub(crate) fn lost() -> Response {
    let why = "This login took too long, was already used, or began in another browser.";
    let page = pages::failed("Log in again", why, "/");
    (StatusCode::BAD_REQUEST, page).into_response()
}

/// The cookies of a user who has logged in, and the page to go on to.
pub(crate) struct Arrival {
    cookies: [http::HeaderValue; 3],
    pub(crate) to: String,
}

impl Arrival {
    /// Makes the cookies. The page that it leads to is given the second cookie's value.
    pub(crate) fn new(state: &ApiState, token: &str, seconds: u64, to: &str) -> Self {
        let csrf = random_hex();
        let [first, second] = cookies::signed_in(token, &csrf, seconds, state.is_secure());
        let separator = if to.contains('?') { '&' } else { '?' };
        Self {
            cookies: [first, second, cookies::login_ended()],
            to: format!("{to}{separator}csrf_token={csrf}"),
        }
    }

    pub(crate) fn go(self) -> Response {
        let onwards = redirect(StatusCode::TEMPORARY_REDIRECT, &self.to);
        self.with(onwards)
    }

    pub(crate) fn with(self, response: Response) -> Response {
        let cookies = self.cookies.map(|value| (SET_COOKIE, value));
        (AppendHeaders(cookies), response).into_response()
    }
}

pub(crate) fn redirect(status: StatusCode, to: &str) -> Response {
    (status, [(http::header::LOCATION, to.to_owned())]).into_response()
}

pub(crate) fn random_hex() -> String {
    let bytes: [u8; 32] = rand::random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
