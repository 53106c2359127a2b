//! Real checkers that ask a tenant's secret manager: a stand-in for Vault.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// Each test binary uses its own part of this.
#[allow(dead_code)]
mod support;

use std::{net::TcpListener, time::Duration};

use airside_check_process::{Failure, SecretLookup};
use airside_secret_managers::{Error, testing::VaultStandIn};
use serde_json::{Value, json};

use support::CheckerFolders;

fn look(team: &str, url: &str, path: &str) -> SecretLookup {
    SecretLookup {
        team: team.to_owned(),
        type_: "vault".to_owned(),
        config: json!({"url": url, "auth_backend": "approle", "auth_params": {"role_id": "r"}}),
        path: path.to_owned(),
        timeout: Duration::from_secs(60),
    }
}

fn stand_in() -> VaultStandIn {
    let vault = VaultStandIn::start();
    vault.keep("concourse/a", json!({"value": "hunter2"}));
    let login = json!({"role_id": "r"});
    let mut state = vault.state();
    state.logins.insert("approle/login".to_owned(), login);
    drop(state);
    vault
}

#[tokio::test]
async fn each_team_asks_by_itself_and_logs_in_once() {
    let (place, vault) = (CheckerFolders::new(), stand_in());
    let checkers = place.checkers();
    for (path, found) in [
        ("/concourse/a", Some(json!("hunter2"))),
        ("/concourse/b", None),
        ("/concourse/a", Some(json!("hunter2"))),
    ] {
        let said = checkers
            .secret(&look("main", &vault.url, path))
            .await
            .unwrap();
        assert_eq!(said.unwrap().map(|secret| secret.value), found);
    }
    assert_eq!(vault.count("POST auth/approle/login"), 1);
    let other = look("other", &vault.url, "/concourse/a");
    assert!(checkers.secret(&other).await.unwrap().unwrap().is_some());
    assert_eq!(vault.count("POST auth/approle/login"), 2);
    assert_eq!(place.all().len(), 2);
    checkers.close().await;
}

#[tokio::test]
async fn refusals_and_trouble_are_told_apart() {
    let (place, vault) = (CheckerFolders::new(), stand_in());
    let checkers = place.checkers();
    let asked = look("main", &vault.url, "/concourse/a");
    vault.state().trouble = 1;
    let said = checkers.secret(&asked).await.unwrap();
    assert!(matches!(said, Err(Error::Away(_))), "{said:?}");
    assert!(checkers.secret(&asked).await.unwrap().unwrap().is_some());
    let wrong = SecretLookup {
        config: json!({"url": vault.url}),
        ..asked.clone()
    };
    let said = checkers.secret(&wrong).await.unwrap();
    assert!(matches!(said, Err(Error::Settings(_))), "{said:?}");
    let file = SecretLookup {
        config: json!({"url": vault.url, "client_token_path": "/etc/passwd"}),
        ..asked.clone()
    };
    let said = checkers.secret(&file).await.unwrap();
    assert!(matches!(said, Err(Error::Settings(_))), "{said:?}");
    let unknown = SecretLookup {
        type_: "conjur".to_owned(),
        config: Value::Null,
        ..asked
    };
    assert!(checkers.secret(&unknown).await.unwrap().is_err());
    checkers.close().await;
}

#[tokio::test]
async fn a_manager_that_never_answers_is_given_up() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    // It takes connections, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let silent = SecretLookup {
        timeout: Duration::from_secs(1),
        ..look("main", &url, "/concourse/a")
    };
    let said = checkers.secret(&silent).await;
    assert!(matches!(said, Err(Failure::TimedOut { .. })), "{said:?}");
    let vault = stand_in();
    let next = look("main", &vault.url, "/concourse/a");
    assert!(checkers.secret(&next).await.unwrap().unwrap().is_some());
    checkers.close().await;
}
