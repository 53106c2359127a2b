//! The few pages that are not part of the web interface: logging in, what can come of that, and
//! handing a token to fly. They load nothing from anywhere.

use airside_auth::Principal;
use axum::response::{Html, IntoResponse, Response};
use http::header::CONTENT_SECURITY_POLICY;

use crate::{badge::escape, journey::random_hex};

const STYLE: &str = include_str!("pages/style.css");

/// A runway, from the side where one waits.
const MARK: &str = "<p class=\"mark\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\" fill=\"none\" \
    stroke=\"currentColor\" stroke-width=\"2\" stroke-linecap=\"round\" stroke-linejoin=\"round\">\
    <path d=\"M9 3 3 21M15 3l6 18M12 4v3M12 11v3M12 18v3\"/></svg>Airside</p>";

/// The rights of a page's script.
struct Script {
    text: String,
    reaches: String,
}

fn page(title: &str, content: &str, script: Option<Script>) -> Response {
    let nonce = random_hex();
    let (element, allowed) = match script {
        Some(Script { text, reaches }) => (
            format!("<script nonce=\"{nonce}\">{text}</script>"),
            format!("; script-src 'nonce-{nonce}'; connect-src {reaches}"),
        ),
        None => Default::default(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'{allowed}"
    );
    let title = escape(title);
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title} · Airside</title><style>{STYLE}</style></head><body><main>{MARK}\
         <h1>{title}</h1>{content}</main>{element}</body></html>"
    );
    ([(CONTENT_SECURITY_POLICY, policy)], Html(text)).into_response()
}

/// The ways to log in here.
pub(crate) struct Choices {
    pub(crate) passwords: bool,
    /// The name of the directory that checks passwords, too.
    pub(crate) directory: Option<String>,
    /// Name and title of each provider.
    pub(crate) providers: Vec<(&'static str, String)>,
}

/// Offers every provider, and asks for a name and a password. `tried` is the name that was typed
/// and why it was not let in.
pub(crate) fn login(state: &str, choices: &Choices, tried: Option<(&str, &str)>) -> Response {
    let state = escape(state);
    let mut content = String::new();
    for (name, title) in &choices.providers {
        let title = escape(title);
        content.push_str(&format!(
            "<a class=\"button provider\" href=\"/sky/issuer/auth/{name}?state={state}\">\
             Log in with {title}</a>"
        ));
    }
    if choices.passwords && !choices.providers.is_empty() {
        content.push_str("<div class=\"or\">or with a password</div>");
    }
    if choices.passwords {
        content.push_str(&form(&state, choices, tried));
    }
    page("Log in", &content, None)
}

fn form(state: &str, choices: &Choices, tried: Option<(&str, &str)>) -> String {
    let (name, wrong, invalid) = match tried {
        Some((name, why)) => (
            escape(name),
            format!(
                "<p class=\"wrong\" id=\"wrong\" role=\"alert\">{}</p>",
                escape(why)
            ),
            "aria-invalid=\"true\" aria-describedby=\"wrong\"",
        ),
        None => Default::default(),
    };
    let label = match &choices.directory {
        Some(title) => format!("User ({} or local)", escape(title)),
        None => "User".to_owned(),
    };
    // A user who has typed a name goes on with the password.
    let (first, second) = match (tried, choices.providers.is_empty()) {
        (Some(_), _) => ("", "autofocus"),
        (None, true) => ("autofocus", ""),
        (None, false) => ("", ""),
    };
    format!(
        "<form method=\"post\" action=\"/sky/issuer/auth/local/login\">{wrong}\
         <input type=\"hidden\" name=\"state\" value=\"{state}\">\
         <label for=\"login\">{label}</label><input id=\"login\" name=\"login\" value=\"{name}\" \
         autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\" required {first} {invalid}>\
         <label for=\"password\">Password</label><input id=\"password\" name=\"password\" \
         type=\"password\" autocomplete=\"current-password\" required {second} {invalid}>\
         <button>Log in</button></form>"
    )
}

/// Asks whether to log out.
pub(crate) fn logout(csrf: &str) -> Response {
    let csrf = escape(csrf);
    let content = format!(
        "<form method=\"post\" action=\"/sky/logout\">\
         <input type=\"hidden\" name=\"csrf_token\" value=\"{csrf}\"><button>Log out</button></form>"
    );
    page("Log out?", &content, None)
}

/// Hands the token to the fly that waits on this machine, after a click, and shows it for pasting.
/// A stranger can make a link here with another program's port, so nothing goes there by itself.
pub(crate) fn fly_success(port: Option<u16>, token: &str) -> Response {
    let token = escape(token);
    let Some(port) = port else {
        let content = format!(
            "<p>Paste this token where fly asks for it:</p><code id=\"token\">bearer {token}</code>"
        );
        return page("Logged in", &content, None);
    };
    let query = token.replace('+', "%2B").replace('/', "%2F");
    let content = format!(
        "<p id=\"said\" role=\"status\">If you have just run <b>fly login</b> on this computer, hand it the token. \
         Or paste it where fly asks for it:</p><code id=\"token\">bearer {token}</code>\
         <a class=\"button\" id=\"send\" href=\"http://127.0.0.1:{port}/?token=bearer%20{query}\" \
         rel=\"noreferrer\">Hand the token to fly</a>"
    );
    let text = "const send=document.getElementById('send');send.addEventListener('click',(event)=>{\
        event.preventDefault();fetch(send.href).then(()=>{\
        document.getElementById('said').textContent='fly is logged in. You can close this page.';\
        document.getElementById('token').remove();send.remove()}).catch(()=>{location.href=send.href})})";
    let script = Script {
        text: text.to_owned(),
        reaches: format!("http://127.0.0.1:{port}"),
    };
    page("Logged in", &content, Some(script))
}

/// The page of a user who is logged in and member of no team. `to` is the page that they wanted.
pub(crate) fn no_team(principal: &Principal, to: &str) -> Response {
    let known_as = format!("{}:{}", principal.connector(), principal.display_user_id());
    let (known_as, to) = (escape(&known_as), escape(to));
    let content = format!(
        "<p>You are logged in, but no team has you as a member yet, so there is little to see. Ask an \
         owner of your team to add this user, or one of your groups, with <b>fly set-team</b>:</p>\
         <code>{known_as}</code><a class=\"button\" href=\"{to}\">Go on anyway</a>"
    );
    page("You are in no team", &content, None)
}

/// A login that came to nothing, and a way to begin again that leads to the same place.
pub(crate) fn failed(title: &str, why: &str, to: &str) -> Response {
    let to = escape(&to.replace('%', "%25").replace('&', "%26"));
    let content = format!(
        "<p role=\"alert\">{}</p><a class=\"button\" href=\"/sky/login?redirect_uri={to}\">\
         Log in again</a>",
        escape(why)
    );
    page(title, &content, None)
}

pub(crate) fn message(title: &str, text: &str) -> Response {
    page(title, &format!("<p>{}</p>", escape(text)), None)
}
