//! The few pages that are no part of the web interface: logging in, and handing a token to fly.

use axum::response::{Html, IntoResponse, Response};

use crate::badge::escape;

const STYLE: &str = "
:root{color-scheme:light dark;--paper:#f4f6f8;--card:#fff;--ink:#1c2733;--soft:#5b6b7c;--line:#cfd8e1;
--accent:#0b6bcb;--wrong:#b3261e}
@media(prefers-color-scheme:dark){:root{--paper:#10161d;--card:#1a222c;--ink:#e8eef4;--soft:#93a4b5;
--line:#344252;--accent:#4da3ff;--wrong:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
main{width:min(23rem,92vw);padding:2.2rem;background:var(--card);border:1px solid var(--line);
border-radius:14px;box-shadow:0 12px 40px #0002}
h1{margin:0 0 .2rem;font-size:1.5rem;letter-spacing:-.01em}
p{margin:.2rem 0 1.2rem;color:var(--soft)}
label{display:block;margin:.9rem 0 .3rem;font-weight:600;font-size:.9rem}
input{width:100%;padding:.65rem .8rem;font:inherit;color:inherit;background:var(--paper);
border:1px solid var(--line);border-radius:8px}
input:focus-visible,button:focus-visible,a:focus-visible{outline:3px solid var(--accent);outline-offset:1px}
button,.button{display:block;width:100%;margin-top:1.4rem;padding:.7rem;font:inherit;font-weight:600;
text-align:center;text-decoration:none;color:#fff;background:#0b6bcb;border:0;border-radius:8px;cursor:pointer}
.wrong{color:var(--wrong);font-weight:600;margin-bottom:.4rem}
code{display:block;padding:.7rem;overflow-wrap:anywhere;background:var(--paper);border:1px solid var(--line);
border-radius:8px;font-size:.85rem}
";

fn page(title: &str, content: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title} · Airside</title><style>{STYLE}</style></head><body><main>{content}</main>\
         </body></html>"
    );
    Html(text).into_response()
}

/// Asks for a name and a password; `wrong` says why the last try failed.
pub(crate) fn login(state: &str, wrong: Option<&str>) -> Response {
    let state = escape(state);
    let wrong = wrong.map_or_else(String::new, |why| {
        format!("<p class=\"wrong\" role=\"alert\">{}</p>", escape(why))
    });
    page(
        "Log in",
        &format!(
            "<h1>Airside</h1><p>Log in to go on.</p>{wrong}\
             <form method=\"post\" action=\"/sky/issuer/auth/local/login\">\
             <input type=\"hidden\" name=\"state\" value=\"{state}\">\
             <label for=\"login\">User</label><input id=\"login\" name=\"login\" \
             autocomplete=\"username\" autocapitalize=\"none\" required autofocus>\
             <label for=\"password\">Password</label><input id=\"password\" name=\"password\" \
             type=\"password\" autocomplete=\"current-password\" required>\
             <button>Log in</button></form>"
        ),
    )
}

/// Hands the token to the fly that waits on this machine, and shows it for pasting.
pub(crate) fn fly_success(port: Option<u16>, token: &str) -> Response {
    let token = escape(token);
    let hand_over = port.map_or_else(String::new, |port| {
        let query = token.replace('+', "%2B").replace('/', "%2F");
        format!(
            "<a class=\"button\" id=\"send\" href=\"http://127.0.0.1:{port}/?token=bearer%20{query}\">\
             Send the token to fly</a><script>fetch(document.getElementById('send').href)\
             .then(()=>{{document.getElementById('said').textContent='fly is logged in; close this page.';\
             document.getElementById('send').remove()}}).catch(()=>{{}})</script>"
        )
    });
    page(
        "Logged in",
        &format!(
            "<h1>Logged in</h1><p id=\"said\">fly takes the token from here, or paste it where fly asks \
             for it.</p><code>bearer {token}</code>{hand_over}"
        ),
    )
}

pub(crate) fn message(title: &str, text: &str) -> Response {
    page(
        title,
        &format!("<h1>{}</h1><p>{}</p>", escape(title), escape(text)),
    )
}
