//! The few pages that stand outside the web interface: logging in, what can come of that, and
//! handing a token to fly.

use airside_auth::Principal;
use airside_ui::{FlyToken, LoginForm, LoginNote, LogoutForm};
use axum::response::{Html, IntoResponse, Response};
use http::header::CONTENT_SECURITY_POLICY;

/// Rights of these pages: their own styles, and forms that lead back here.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

fn html(text: String) -> Response {
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(text)).into_response()
}

/// The ways to log in here.
pub(crate) struct Choices {
    pub(crate) passwords: bool,
    /// The name of the directory that checks passwords, too.
    pub(crate) directory: Option<String>,
    /// Name and title of each provider.
    pub(crate) providers: Vec<(&'static str, String)>,
    /// True if fly waits for the login.
    pub(crate) is_for_fly: bool,
}

/// Offers every provider, and asks for a name and a password. `tried` is the name that was typed
/// and why it was not let in.
pub(crate) fn login(state: &str, choices: Choices, tried: Option<(&str, &str)>) -> Response {
    let form = LoginForm {
        state: state.to_owned(),
        takes_passwords: choices.passwords,
        directory: choices.directory,
        providers: choices.providers,
        tried: tried.map(|(name, why)| (name.to_owned(), why.to_owned())),
        is_for_fly: choices.is_for_fly,
    };
    html(form.render_page())
}

/// Asks whether to log out.
pub(crate) fn logout(csrf: &str) -> Response {
    html(LogoutForm { csrf }.render_page())
}

/// Hands the token to the fly that waits on this machine, after a click, and shows it for pasting.
/// A stranger can make a link here with another program's port, so nothing goes there by itself.
pub(crate) fn fly_success(port: Option<u16>, token: &str) -> Response {
    let query = token.replace('+', "%2B").replace('/', "%2F");
    let shown = FlyToken {
        token,
        send: port.map(|port| format!("http://127.0.0.1:{port}/?token=bearer%20{query}")),
    };
    let Some(port) = port else {
        return html(shown.render_page());
    };
    let policy = format!("{POLICY}; script-src 'self'; connect-src http://127.0.0.1:{port}");
    let text = Html(shown.render_page());
    ([(CONTENT_SECURITY_POLICY, policy)], text).into_response()
}

/// The page of a user who is logged in and member of no team. `to` is the page that they wanted.
pub(crate) fn no_team(principal: &Principal, to: &str) -> Response {
    let known_as = format!("{}:{}", principal.connector(), principal.display_user_id());
    let note = LoginNote {
        title: "You are in no team",
        text: "You are logged in, but no team has you as a member yet, so there is little to see. Ask an owner of \
               your team to add this user, or one of your groups, with fly set-team:",
        code: Some(&known_as),
        onwards: Some(("Go on anyway", to.to_owned())),
        ..LoginNote::default()
    };
    html(note.render_page())
}

/// A login that came to nothing, and a way to begin again that leads to the same place.
pub(crate) fn failed(title: &str, why: &str, to: &str) -> Response {
    let to = to.replace('%', "%25").replace('&', "%26");
    let note = LoginNote {
        title,
        text: why,
        is_alert: true,
        onwards: Some(("Log in again", format!("/sky/login?redirect_uri={to}"))),
        ..LoginNote::default()
    };
    html(note.render_page())
}

/// The page of a browser that has just logged out.
pub(crate) fn logged_out() -> Response {
    let note = LoginNote {
        title: "Logged out",
        text: "This browser has forgotten its token. Pipelines that are public can still be read.",
        onwards: Some(("Log in again", "/login".to_owned())),
        ..LoginNote::default()
    };
    html(note.render_page())
}

pub(crate) fn message(title: &str, text: &str) -> Response {
    let note = LoginNote {
        title,
        text,
        ..LoginNote::default()
    };
    html(note.render_page())
}
