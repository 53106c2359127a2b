//! Logging in through (an imitation of) GitHub Enterprise.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use airside_auth::{ConnectorName, Identity};
use airside_identity_providers::{
    Attempt, Fault, Github, Redirecting, Secret, testing::TestGithub,
};

const CALLBACK: &str = "http://127.0.0.1:1/sky/issuer/callback";

#[tokio::test]
async fn organisations_and_teams_become_groups() {
    let server = TestGithub::start().await;
    let github = Github::new(server.config()).unwrap();
    let attempt = Attempt::new();
    let url = github.begin(&attempt, "state", CALLBACK).await.unwrap();
    let back = server.visit(&url);
    assert!(back.query().unwrap().contains("state=state"));
    let identity = github.finish(&attempt, "good", CALLBACK).await.unwrap();
    let groups = ["acme:Road Works", "acme:road-works", "acme", "other"];
    let expected = Identity {
        connector: ConnectorName::Github,
        user_id: "7".into(),
        user_name: "ann".into(),
        name: "ann".into(),
        email: "ann@example.com".into(),
        groups: groups.map(str::to_owned).to_vec(),
    };
    assert_eq!(identity, expected);
}

#[tokio::test]
async fn bad_codes_and_secrets_are_told_apart_and_not_shown() {
    let server = TestGithub::start().await;
    let attempt = Attempt::new();
    let github = Github::new(server.config()).unwrap();
    let error = github.finish(&attempt, "bad", CALLBACK).await.unwrap_err();
    assert!(
        error.to_string().contains("incorrect or expired"),
        "{error}"
    );

    let mut config = server.config();
    config.client_secret = Secret::new("hunter2");
    let github = Github::new(config).unwrap();
    let error = github.finish(&attempt, "good", CALLBACK).await.unwrap_err();
    assert!(matches!(error.fault, Fault::ExchangeRefused(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("incorrect_client_credentials"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
