//! Logging in through an OpenID provider, and everything that must not be believed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use airside_auth::{ConnectorName, Identity};
use airside_identity_providers::{
    Attempt, ConnectorError, Fault, GitlabConfig, IdTokenError, Oidc, Redirecting, Secret, gitlab,
    testing::{Signer, TestProvider},
};
use serde_json::{Value, json};

const CALLBACK: &str = "http://127.0.0.1:1/sky/issuer/callback";

async fn log_in(provider: &TestProvider, oidc: &Oidc) -> Result<Identity, ConnectorError> {
    let attempt = Attempt::new();
    let url = oidc.begin(&attempt, "some state", CALLBACK).await?;
    let back = provider.visit(&url);
    let fields: std::collections::BTreeMap<_, _> = back.query_pairs().into_owned().collect();
    assert_eq!(fields["state"], "some state");
    oidc.finish(&attempt, &fields["code"], CALLBACK).await
}

async fn start() -> (TestProvider, Oidc) {
    let provider = TestProvider::start(Signer::rsa("a")).await;
    let oidc = Oidc::new(provider.config()).unwrap();
    (provider, oidc)
}

#[tokio::test]
async fn a_user_is_who_the_provider_says() {
    for signer in [Signer::rsa("a"), Signer::ec("b")] {
        let provider = TestProvider::start(signer).await;
        let oidc = Oidc::new(provider.config()).unwrap();
        let identity = log_in(&provider, &oidc).await.unwrap();
        let expected = Identity {
            connector: ConnectorName::Oidc,
            user_id: "42".into(),
            user_name: "ann".into(),
            name: "Ann Lee".into(),
            email: "ann@example.com".into(),
            groups: vec!["ops".into(), "dev".into()],
        };
        assert_eq!(identity, expected);
        log_in(&provider, &oidc).await.unwrap();
        assert_eq!(provider.knobs().key_fetches, 1, "keys are kept");
    }
}

#[tokio::test]
async fn gitlab_is_such_a_provider() {
    let provider = TestProvider::start(Signer::rsa("a")).await;
    let user = json!({"sub": "42", "nickname": "ann", "groups": ["acme/ops"],
        "email": "ann@example.com"});
    provider.knobs().user_info = user.as_object().unwrap().clone();
    let oidc = provider.config();
    let gitlab = gitlab(GitlabConfig {
        host: format!("{}/", provider.issuer()),
        client_id: oidc.client_id,
        client_secret: oidc.client_secret,
        ca: None,
        patience: oidc.patience,
    })
    .unwrap();
    let identity = log_in(&provider, &gitlab).await.unwrap();
    assert_eq!(identity.connector, ConnectorName::Gitlab);
    assert_eq!((&*identity.user_id, &*identity.user_name), ("42", "ann"));
    assert_eq!(identity.groups, ["acme/ops"]);
}

/// A change of the provider, and the error that comes of it.
type Case = (&'static str, Value, IdTokenError);

#[tokio::test]
async fn id_tokens_that_are_not_for_this_login_are_refused() {
    let (provider, oidc) = start().await;
    let cases: [Case; 12] = [
        ("nonce", json!("another"), IdTokenError::Nonce),
        ("nonce", json!(null), IdTokenError::Nonce),
        ("aud", json!("another"), IdTokenError::Audience),
        ("aud", json!(["another", "more"]), IdTokenError::Audience),
        ("aud", json!(null), IdTokenError::Lacks("aud".into())),
        ("azp", json!("another"), IdTokenError::Audience),
        ("iss", json!("https://evil.example"), IdTokenError::Issuer),
        ("iss", json!(null), IdTokenError::Lacks("iss".into())),
        ("exp", json!(1_000_000_000), IdTokenError::Time),
        ("exp", json!(null), IdTokenError::Lacks("exp".into())),
        ("nbf", json!(99_999_999_999_u64), IdTokenError::Time),
        ("sub", json!(null), IdTokenError::Lacks("sub".into())),
    ];
    for (claim, value, expected) in cases {
        provider.knobs().claims = [(claim.to_owned(), value.clone())].into_iter().collect();
        let error = log_in(&provider, &oidc).await.unwrap_err();
        match error.fault {
            Fault::IdToken(found) => assert_eq!(found, expected, "{claim} {value}"),
            other => panic!("{claim} {value}: {other}"),
        }
    }
}

#[tokio::test]
async fn signatures_of_nobody_or_somebody_else_are_refused() {
    let (provider, oidc) = start().await;
    let refused = async || match log_in(&provider, &oidc).await.unwrap_err().fault {
        Fault::IdToken(error) => error,
        other => panic!("{other}"),
    };
    provider.knobs().unsigned = true;
    assert_eq!(refused().await, IdTokenError::Malformed);
    provider.knobs().unsigned = false;

    for stranger in [Signer::rsa("a"), Signer::rsa("unknown"), Signer::ec("a")] {
        provider.knobs().signer = stranger;
        assert_eq!(refused().await, IdTokenError::Key);
    }
    // A key that every user can read proves nothing.
    provider.knobs().signer = Signer::secret("a", b"public");
    assert!(matches!(refused().await, IdTokenError::Algorithm(_)));
}

#[tokio::test]
async fn keys_change_while_we_run() {
    let (provider, oidc) = start().await;
    log_in(&provider, &oidc).await.unwrap();
    for new in [Signer::ec("b"), Signer::rsa("b")] {
        provider.knobs().published = vec![new.clone()];
        provider.knobs().signer = new;
        log_in(&provider, &oidc).await.unwrap();
    }
    assert_eq!(provider.knobs().key_fetches, 3);
}

#[tokio::test]
async fn a_code_is_good_once_and_with_its_own_attempt() {
    let (provider, oidc) = start().await;
    let attempt = Attempt::new();
    let url = oidc.begin(&attempt, "s", CALLBACK).await.unwrap();
    let code = |url| {
        let back = provider.visit(url);
        let mut fields = back.query_pairs();
        fields
            .find(|(key, _)| key == "code")
            .unwrap()
            .1
            .into_owned()
    };
    let good = code(&url);
    oidc.finish(&attempt, &good, CALLBACK).await.unwrap();
    let stolen = code(&url);
    for (attempt, code, callback) in [
        (&attempt, good.as_str(), CALLBACK),
        (&attempt, "made-up", CALLBACK),
        (&Attempt::new(), &stolen, CALLBACK),
        (&attempt, &code(&url), "http://127.0.0.1:1/elsewhere"),
    ] {
        let error = oidc.finish(attempt, code, callback).await.unwrap_err();
        assert!(matches!(error.fault, Fault::ExchangeRefused(_)), "{error}");
        assert!(!error.to_string().contains(code), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_secret_is_named_and_not_shown() {
    let (provider, _) = start().await;
    let mut config = provider.config();
    config.client_secret = Secret::new("hunter2");
    assert!(!format!("{config:?}").contains("hunter2"));
    let oidc = Oidc::new(config).unwrap();
    let error = log_in(&provider, &oidc).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("oidc: ") && text.contains("client secret"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn what_the_user_info_says_is_about_the_same_user() {
    let (provider, oidc) = start().await;
    provider.knobs().user_info.insert("sub".into(), "1".into());
    let error = log_in(&provider, &oidc).await.unwrap_err();
    assert!(matches!(error.fault, Fault::OtherSubject), "{error}");

    // Not asked, it says nothing.
    let mut config = provider.config();
    config.ask_user_info = false;
    let oidc = Oidc::new(config).unwrap();
    let identity = log_in(&provider, &oidc).await.unwrap();
    assert_eq!((&*identity.user_name, identity.groups.len()), ("42", 0));
}

#[tokio::test]
async fn providers_that_fail_are_named() {
    let (provider, oidc) = start().await;
    log_in(&provider, &oidc).await.unwrap();
    for (path, status, body) in [
        ("/token", 200, "<html>"),
        ("/token", 500, "oops"),
        ("/token", 200, "{}"),
        ("/userinfo", 403, ""),
        ("/userinfo", 200, "[]"),
    ] {
        let answers = [(path.to_owned(), (status, body.to_owned()))];
        provider.knobs().answers = answers.into_iter().collect();
        let text = log_in(&provider, &oidc).await.unwrap_err().to_string();
        assert!(text.contains(path), "{path} {status}: {text}");
    }
    let long = "x".repeat(2 << 20);
    provider.knobs().answers = [("/token".to_owned(), (200, long))].into_iter().collect();
    let text = log_in(&provider, &oidc).await.unwrap_err().to_string();
    assert!(text.contains("longer than"), "{text}");
}

#[tokio::test]
async fn discovery_is_tried_again_and_believed_only_about_itself() {
    const PATH: &str = "/.well-known/openid-configuration";
    let (provider, oidc) = start().await;
    for (status, body) in [
        (404, String::new()),
        (200, "garbage".to_owned()),
        (200, json!({"issuer": provider.issuer()}).to_string()),
        (
            200,
            json!({"issuer": "https://evil.example", "token_endpoint": "https://evil.example",
                "authorization_endpoint": "https://evil.example",
                "jwks_uri": "https://evil.example"})
            .to_string(),
        ),
    ] {
        provider.knobs().answers = [(PATH.to_owned(), (status, body.clone()))]
            .into_iter()
            .collect();
        log_in(&provider, &oidc).await.unwrap_err();
    }
    provider.knobs().answers.clear();
    log_in(&provider, &oidc).await.unwrap();
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let (provider, _) = start().await;
    let mut config = provider.config();
    config.patience = Duration::from_millis(200);
    let oidc = Oidc::new(config.clone()).unwrap();
    provider
        .knobs()
        .silent
        .push("/.well-known/openid-configuration".into());
    let error = log_in(&provider, &oidc).await.unwrap_err();
    assert!(matches!(error.fault, Fault::Slow { .. }), "{error}");

    config.patience = Duration::from_secs(20);
    config.issuer = "http://127.0.0.1:1".into();
    let oidc = Oidc::new(config).unwrap();
    let error = oidc
        .begin(&Attempt::new(), "s", CALLBACK)
        .await
        .unwrap_err();
    assert!(matches!(error.fault, Fault::Unreachable { .. }), "{error}");
    assert!(error.for_users("Acme").starts_with("Acme does not answer"));
}

#[tokio::test]
async fn an_issuer_is_a_url_that_keeps_secrets() {
    let (provider, _) = start().await;
    for (issuer, words) in [
        ("nonsense", "not a URL"),
        ("http://provider.example", "must be https"),
    ] {
        let mut config = provider.config();
        config.issuer = issuer.to_owned();
        let text = Oidc::new(config).err().unwrap().to_string();
        assert!(text.contains(words), "{text}");
    }
    let mut config = provider.config();
    config.ca = Some(b"no certificate".to_vec());
    assert!(Oidc::new(config).is_err());
}
