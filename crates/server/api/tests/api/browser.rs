//! Logging in with a browser, and what its cookies are good for.

use std::collections::BTreeMap;

use crate::support::{PIPELINE, Server, TP, TestResponse};
use axum::body::Body;
use http::{Request, StatusCode};

/// Keeps cookies as a browser does.
#[derive(Clone, Default)]
pub(crate) struct Browser(pub(crate) BTreeMap<String, String>);

impl Browser {
    pub(crate) async fn send(
        &mut self,
        server: &Server,
        method: &str,
        path: &str,
        form: &str,
    ) -> TestResponse {
        self.send_with(server, method, path, form, None).await
    }

    async fn send_with(
        &mut self,
        server: &Server,
        method: &str,
        path: &str,
        form: &str,
        csrf: Option<&str>,
    ) -> TestResponse {
        let cookies: Vec<_> = self.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("cookie", cookies.join("; "))
            .header("content-type", "application/x-www-form-urlencoded");
        if let Some(csrf) = csrf {
            request = request.header("x-csrf-token", csrf);
        }
        let answer = server
            .ask(request.body(Body::from(form.to_owned())).unwrap())
            .await;
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            assert!(
                line.contains("HttpOnly") && line.contains("SameSite=Lax"),
                "{line}"
            );
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if line.contains("Max-Age=0") {
                self.0.remove(name)
            } else {
                self.0.insert(name.to_owned(), value.to_owned())
            };
        }
        answer
    }
}

pub(crate) fn state(path: &str) -> &str {
    path.split("state=").nth(1).unwrap()
}

/// Goes to the form, fills it in, and returns where that leads.
async fn log_in(
    server: &Server,
    browser: &mut Browser,
    begin: &str,
    password: &str,
) -> TestResponse {
    let first = browser.send(server, "GET", begin, "").await;
    let login = first.header("location").to_owned();
    let second = browser.send(server, "GET", &login, "").await;
    assert_eq!(second.status, StatusCode::TEMPORARY_REDIRECT);
    let form = second.header("location").to_owned();
    let page = browser.send(server, "GET", &form, "").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("type=\"password\""));
    assert!(!page.text.contains("http"), "the page needs no network");
    let fields = format!("login=ann&password={password}&state={}", state(&form));
    browser
        .send(server, "POST", "/sky/issuer/auth/local/login", &fields)
        .await
}

#[tokio::test]
async fn a_browser_logs_in_and_hands_its_token_to_fly() {
    let server = Server::start().await;
    let mut browser = Browser::default();
    let wrong = log_in(&server, &mut browser, "/login?fly_port=4711", "%3Cno%3E").await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(wrong.text.contains("Invalid username or password"));

    let right = log_in(&server, &mut browser, "/login?fly_port=4711", "pw").await;
    assert_eq!(right.status, StatusCode::SEE_OTHER);
    let callback = right.header("location").to_owned();
    let stranger = Browser::default().send(&server, "GET", &callback, "").await;
    assert_eq!(stranger.status, StatusCode::BAD_REQUEST, "another browser");
    let arrived = browser.send(&server, "GET", &callback, "").await;
    assert_eq!(arrived.status, StatusCode::TEMPORARY_REDIRECT);
    let again = browser.send(&server, "GET", &callback, "").await;
    assert_eq!(again.status, StatusCode::BAD_REQUEST, "a login ends once");
    let to = arrived.header("location").to_owned();
    let csrf = to
        .strip_prefix("/fly_success?fly_port=4711&csrf_token=")
        .unwrap();
    assert_eq!(csrf.len(), 64);

    let page = browser.send(&server, "GET", &to, "").await;
    assert!(
        page.text.contains("http://127.0.0.1:4711/?token=bearer%20"),
        "{}",
        page.text
    );
    // The token goes nowhere before a click.
    assert_eq!(page.text.matches("<script").count(), 1, "{}", page.text);
    let policy = page.header("content-security-policy");
    let reaches = "script-src 'self'; connect-src http://127.0.0.1:4711";
    assert!(policy.ends_with(reaches), "{policy}");
    let (_, script) = page
        .text
        .split_once("<script type=\"module\" src=\"")
        .unwrap();
    let script = script.split('"').next().unwrap();
    let script = server.call(None, "GET", script).await.text;
    let (before, after) = script.split_once("fetch(").unwrap();
    assert!(before.contains("addEventListener('click'"), "{script}");
    assert!(!after.contains("fetch("), "{script}");
    let token = page
        .text
        .split("<code id=\"token\">bearer ")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap();
    assert_eq!(
        server.get(token, "/api/v1/user").await.json()["user_name"],
        "ann"
    );

    // Once logged in, the form is not shown again.
    let again = browser
        .send(&server, "GET", "/sky/login?redirect_uri=/x", "")
        .await;
    assert!(again.header("location").starts_with("/x?csrf_token="));
    // Whatever led the browser there, it is asked first.
    let asked = browser.send(&server, "GET", "/sky/logout", "").await;
    assert_eq!(asked.status, StatusCode::OK);
    assert!(asked.text.contains(">Log out</button>"), "{}", asked.text);
    let asking = browser.clone();
    let unmeant = browser
        .send(&server, "POST", "/sky/logout", "csrf_token=guess")
        .await;
    assert_eq!(unmeant.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        server.get(token, "/api/v1/user").await.status,
        StatusCode::OK
    );
    let csrf = asked.text.split("value=\"").nth(1).unwrap();
    let csrf = csrf.split('"').next().unwrap();
    let mut browser = asking;
    let form = format!("csrf_token={csrf}");
    let out = browser.send(&server, "POST", "/sky/logout", &form).await;
    assert_eq!(out.status, StatusCode::OK, "{}", out.text);
    assert!(!browser.0.contains_key("skymarshal_auth"));
    assert_eq!(
        server.get(token, "/api/v1/user").await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_cookie_alone_changes_nothing() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let mut browser = Browser::default();
    let right = log_in(&server, &mut browser, "/login", "pw").await;
    let callback = right.header("location").to_owned();
    let arrived = browser.send(&server, "GET", &callback, "").await;
    let csrf = arrived
        .header("location")
        .split("csrf_token=")
        .nth(1)
        .unwrap()
        .to_owned();

    assert_eq!(
        browser.send(&server, "GET", TP, "").await.status,
        StatusCode::OK
    );
    let pause = format!("{TP}/pause");
    let kept = browser.0.clone();
    for wrong in [None, Some(""), Some("0000")] {
        browser.0 = kept.clone();
        let answer = browser.send_with(&server, "PUT", &pause, "", wrong).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{wrong:?}");
    }
    browser.0 = kept;
    let answer = browser
        .send_with(&server, "PUT", &pause, "", Some(&csrf))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn a_login_cannot_be_forged_or_led_astray() {
    let server = Server::start().await;
    let mut browser = Browser::default();
    for path in [
        "/sky/issuer/auth?state=nonsense",
        "/sky/issuer/auth",
        "/sky/callback?code=a&state=b",
        "/sky/login?redirect_uri=https://evil.example",
        "/sky/login?redirect_uri=%2F%2Fevil.example",
        "/login?fly_port=nonsense",
    ] {
        let answer = browser.send(&server, "GET", path, "").await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
    }
    let forged = "login=ann&password=pw&state=nonsense";
    let answer = browser
        .send(&server, "POST", "/sky/issuer/auth/local/login", forged)
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let anonymous = browser
        .send(&server, "GET", "/fly_success?fly_port=1", "")
        .await;
    assert_eq!(anonymous.status, StatusCode::UNAUTHORIZED);
}
