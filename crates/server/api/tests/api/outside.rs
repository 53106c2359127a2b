//! Logging in through identity providers, as a browser and as fly do it.

use std::sync::{Arc, Mutex};

use airside_identity_providers::{
    Connectors, Github, Ldap, LdapTls, Oidc,
    testing::{Signer, Slapd, TestGithub, TestProvider},
};
use http::StatusCode;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use url::Url;

use crate::{
    browser::{Browser, state},
    support::{Server, TestResponse, grant},
};

/// Goes to the login page; where its form and its buttons lead carries this state.
async fn open_page(server: &Server, browser: &mut Browser, begin: &str) -> (String, TestResponse) {
    let first = browser.send(server, "GET", begin, "").await;
    let second = browser
        .send(server, "GET", first.header("location"), "")
        .await;
    let form = second.header("location").to_owned();
    let page = browser.send(server, "GET", &form, "").await;
    assert_eq!(page.status, StatusCode::OK);
    (state(&form).to_owned(), page)
}

/// Follows a button of the login page to the provider.
async fn leave(server: &Server, browser: &mut Browser, begin: &str, name: &str) -> TestResponse {
    let (state, page) = open_page(server, browser, begin).await;
    let button = format!("/sky/issuer/auth/{name}?state={state}");
    assert!(page.text.contains(&button), "{}", page.text);
    browser.send(server, "GET", &button, "").await
}

fn path(url: &Url) -> String {
    format!("{}?{}", url.path(), url.query().unwrap())
}

async fn with_oidc() -> (Server, TestProvider) {
    let provider = TestProvider::start(Signer::ec("a")).await;
    let mut config = provider.config();
    config.title = "Acme <ID>".to_owned();
    let mut connectors = Connectors::default();
    connectors.add(Oidc::new(config).unwrap());
    (Server::start_with(connectors).await, provider)
}

async fn give_team(server: &Server, auth: serde_json::Value) {
    let ann = server.login("ann").await;
    let body = json!({"auth": auth});
    let set = server
        .send_json(&ann, "PUT", "/api/v1/teams/crew", &body)
        .await;
    assert_eq!(set.status, StatusCode::CREATED, "{}", set.text);
}

#[tokio::test]
async fn a_button_leads_to_the_provider_and_back_to_fly() {
    let (server, provider) = with_oidc().await;
    give_team(&server, json!({"member": {"groups": ["oidc:ops"]}})).await;
    let mut browser = Browser::default();
    let (_, page) = open_page(&server, &mut browser, "/login").await;
    assert!(
        page.text.contains("Log in with Acme &#60;ID&#62;"),
        "{}",
        page.text
    );
    assert!(page.text.contains("type=\"password\""), "local users stay");

    let away = leave(&server, &mut browser, "/login?fly_port=4711", "oidc").await;
    assert_eq!(away.status, StatusCode::FOUND, "{}", away.text);
    let back = provider.visit(&away.header("location").parse().unwrap());
    let callback = format!("http://{}/sky/issuer/callback", server.address);
    assert!(back.as_str().starts_with(&callback), "{back}");
    let returned = browser.send(&server, "GET", &path(&back), "").await;
    assert_eq!(returned.status, StatusCode::SEE_OTHER, "{}", returned.text);
    let arrived = browser
        .send(&server, "GET", returned.header("location"), "")
        .await;
    let to = arrived.header("location").to_owned();
    assert!(
        to.starts_with("/fly_success?fly_port=4711&csrf_token="),
        "{to}"
    );
    let page = browser.send(&server, "GET", &to, "").await;
    let token = page
        .text
        .split("bearer ")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap();
    let user = server.get(token, "/api/v1/user").await.json();
    let expected = json!({"connector": "oidc", "user_name": "ann", "user_id": "42",
        "display_user_id": "ann", "is_admin": false, "teams": {"crew": ["member"]}});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&user[key], value, "{key}: {user}");
    }

    // The same way back does not lead in again, nor does it from elsewhere.
    for browser in [&mut browser, &mut Browser::default()] {
        let again = browser.send(&server, "GET", &path(&back), "").await;
        assert_eq!(again.status, StatusCode::BAD_REQUEST);
        assert!(again.text.contains("already used"), "{}", again.text);
    }
}

#[tokio::test]
async fn whoever_is_in_no_team_is_told_so() {
    let (server, provider) = with_oidc().await;
    let mut browser = Browser::default();
    let away = leave(&server, &mut browser, "/login", "oidc").await;
    let back = provider.visit(&away.header("location").parse().unwrap());
    let returned = browser.send(&server, "GET", &path(&back), "").await;
    let page = browser
        .send(&server, "GET", returned.header("location"), "")
        .await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.text.contains("no team") && page.text.contains("oidc:ann"),
        "{}",
        page.text
    );
    assert!(
        browser.0.contains_key("skymarshal_auth"),
        "exposed pipelines can be seen"
    );
}

#[tokio::test]
async fn what_a_provider_refuses_or_fails_at_is_a_page() {
    let (server, provider) = with_oidc().await;
    let mut browser = Browser::default();
    let away = leave(&server, &mut browser, "/login?fly_port=4711", "oidc").await;
    let url: Url = away.header("location").parse().unwrap();
    let state = url
        .query_pairs()
        .find(|(key, _)| key == "state")
        .unwrap()
        .1
        .into_owned();

    let no = format!(
        "/sky/issuer/callback?state={state}&error=access_denied&error_description=%3Cb%3Eno%3C/b%3E"
    );
    let page = browser.send(&server, "GET", &no, "").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert!(
        page.text.contains("&#60;b&#62;no&#60;/b&#62;"),
        "{}",
        page.text
    );
    assert!(
        page.text
            .contains("redirect_uri=/fly_success?fly_port=4711"),
        "{}",
        page.text
    );

    let made_up = format!("/sky/issuer/callback?state={state}&code=made-up");
    let page = browser.send(&server, "GET", &made_up, "").await;
    assert_eq!(page.status, StatusCode::BAD_GATEWAY);
    assert!(page.text.contains("was not accepted"), "{}", page.text);
    assert!(!page.text.contains("made-up") && !page.text.contains("s3cret"));

    drop(provider);
    let (state, _) = open_page(&server, &mut browser, "/login").await;
    // Known from before: only the way back fails.
    let button = format!("/sky/issuer/auth/oidc?state={state}");
    let away = browser.send(&server, "GET", &button, "").await;
    assert_eq!(away.status, StatusCode::FOUND);

    for (path, status) in [
        (format!("/sky/issuer/auth/github?state={state}"), 404),
        (format!("/sky/issuer/auth/ldap?state={state}"), 404),
        ("/sky/issuer/auth/oidc?state=made-up".to_owned(), 400),
        ("/sky/issuer/callback?code=a&state=b".to_owned(), 400),
        // The journey itself is not what a provider gives back.
        (format!("/sky/issuer/callback?code=a&state={state}"), 400),
    ] {
        let page = browser.send(&server, "GET", &path, "").await;
        assert_eq!(page.status.as_u16(), status, "{path}: {}", page.text);
        assert!(page.text.contains("<!doctype html>"), "{path}");
    }
    let old = browser
        .send(&server, "GET", "/auth/github/callback?code=a&state=b", "")
        .await;
    assert_eq!(old.status, StatusCode::MOVED_PERMANENTLY);
    assert_eq!(
        old.header("location"),
        "/sky/issuer/callback?code=a&state=b"
    );
}

#[tokio::test]
async fn a_provider_that_is_down_is_a_page_too() {
    let provider = TestProvider::start(Signer::ec("a")).await;
    let mut connectors = Connectors::default();
    connectors.add(Oidc::new(provider.config()).unwrap());
    drop(provider);
    let server = Server::start_with(connectors).await;
    let page = leave(&server, &mut Browser::default(), "/login", "oidc").await;
    assert_eq!(page.status, StatusCode::BAD_GATEWAY);
    assert!(page.text.contains("does not answer"), "{}", page.text);
    server.login("ann").await;
}

#[tokio::test]
async fn github_teams_are_members() {
    let github = TestGithub::start().await;
    let mut connectors = Connectors::default();
    connectors.add(Github::new(github.config()).unwrap());
    let server = Server::start_with(connectors).await;
    give_team(
        &server,
        json!({"viewer": {"groups": ["github:acme:road works"]}}),
    )
    .await;
    let mut browser = Browser::default();
    let away = leave(&server, &mut browser, "/login", "github").await;
    let back = github.visit(&away.header("location").parse().unwrap());
    let returned = browser.send(&server, "GET", &path(&back), "").await;
    browser
        .send(&server, "GET", returned.header("location"), "")
        .await;
    let user = browser
        .send(&server, "GET", "/api/v1/user", "")
        .await
        .json();
    assert_eq!(user["teams"], json!({"crew": ["viewer"]}), "{user}");
}

#[tokio::test]
async fn a_directory_checks_passwords_for_the_form_and_for_fly() {
    let mut slapd = Slapd::start();
    let mut config = slapd.config(LdapTls::Plain);
    config.title = "Acme".to_owned();
    let mut connectors = Connectors::default();
    connectors.set_directory(Ldap::new(config).unwrap());
    let server = Server::start_with(connectors).await;
    give_team(
        &server,
        json!({"owner": {"users": ["ldap:b*b(\\)"], "groups": []}}),
    )
    .await;

    // `ann` is a local user here: the directory's ann is another person, and not asked.
    let form = |name: &str, password: &str| {
        grant(
            Some("fly:Zmx5"),
            format!("grant_type=password&username={name}&password={password}"),
        )
    };
    assert_eq!(
        server.ask(form("ann", "ann-pw")).await.status,
        StatusCode::UNAUTHORIZED
    );
    let bob = server.ask(form("b*b(%5C)", "bob-pw")).await;
    assert_eq!(bob.status, StatusCode::OK, "{}", bob.text);
    let token = bob.json()["access_token"].as_str().unwrap().to_owned();
    let user = server.get(&token, "/api/v1/user").await.json();
    assert_eq!(
        (&user["connector"], &user["name"]),
        (&json!("ldap"), &json!("Bob"))
    );
    assert_eq!(user["teams"], json!({"crew": ["owner"]}));
    for password in ["", "no"] {
        let denied = server.ask(form("b*b(%5C)", password)).await;
        assert_eq!(denied.status, StatusCode::UNAUTHORIZED);
    }

    let mut browser = Browser::default();
    let (state, page) = open_page(&server, &mut browser, "/login").await;
    assert!(page.text.contains("User (Acme or local)"), "{}", page.text);
    const FORM: &str = "/sky/issuer/auth/local/login";
    let wrong = format!("login=b*b(%5C)&password=no&state={state}");
    let wrong = browser.send(&server, "POST", FORM, &wrong).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(
        wrong.text.contains("value=\"b*b(\\)\""),
        "the name stays: {}",
        wrong.text
    );
    let right = format!("login=b*b(%5C)&password=bob-pw&state={state}");
    let right = browser.send(&server, "POST", FORM, &right).await;
    assert_eq!(right.status, StatusCode::SEE_OTHER);

    slapd.stop();
    let away = server.ask(form("b*b(%5C)", "bob-pw")).await;
    assert_eq!(away.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!away.text.contains("127.0.0.1"), "{}", away.text);
    server.login("ann").await;
}

/// Collects what every test of this program logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn logins_and_logouts_are_in_the_audit_log_without_secrets() {
    // For the whole program: what is set for one thread misses places that others came by first.
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_ansi(false);
    subscriber.init();
    let (server, provider) = with_oidc().await;
    let named = ("preferred_username".to_owned(), json!("audited"));
    provider.knobs().user_info.extend([named]);
    let form = "grant_type=password&username=wrong-one&password=hunter2";
    server.ask(grant(Some("fly:Zmx5"), form.into())).await;
    let token = server.login("ann").await;
    server.get(&token, "/sky/logout").await;
    let mut browser = Browser::default();
    let away = leave(&server, &mut browser, "/login", "oidc").await;
    let back = provider.visit(&away.header("location").parse().unwrap());
    browser.send(&server, "GET", &path(&back), "").await;
    browser.send(&server, "GET", &path(&back), "").await;

    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let audit: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" audit: "))
        .collect();
    for words in [
        &[
            "LogIn",
            "connector=\"local\"",
            "user=\"wrong-one\"",
            "outcome=\"failed\"",
        ][..],
        &[
            "LogIn",
            "connector=\"local\"",
            "user=\"ann\"",
            "outcome=\"succeeded\"",
        ],
        &["LogOut", "connector=\"local\"", "user=\"ann\""],
        &[
            "LogIn",
            "connector=\"oidc\"",
            "user=\"audited\"",
            "outcome=\"succeeded\"",
        ],
        &["LogIn", "connector=\"oidc\"", "outcome=\"failed\""],
    ] {
        let found = audit
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "{words:?} in {text}");
    }
    for secret in ["hunter2", "s3cret", token.as_str()] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test]
async fn the_issuer_of_id_tokens_can_be_discovered() {
    let server = Server::start().await;
    let found = server
        .call(None, "GET", "/.well-known/openid-configuration")
        .await
        .json();
    let issuer = format!("http://{}", server.address);
    assert_eq!(found["issuer"], issuer);
    assert_eq!(found["jwks_uri"], format!("{issuer}/.well-known/jwks.json"));
    let keys = server
        .call(None, "GET", "/.well-known/jwks.json")
        .await
        .json();
    let keys = keys["keys"].as_array().unwrap();
    let kinds: Vec<_> = keys.iter().map(|key| &key["kty"]).collect();
    assert_eq!(kinds.len(), 2, "{keys:?}");
    assert!(kinds.contains(&&json!("RSA")) && kinds.contains(&&json!("EC")));
    assert!(keys.iter().all(|key| key.get("d").is_none()), "{keys:?}");
}
