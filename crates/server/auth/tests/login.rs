//! Logging in against a real store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use airside_auth::{
    Auth, ConnectorName, Denied, Directory, DirectoryError, Identity, LocalUser, Providers, Role,
};
use airside_limits::Peer;
use airside_store::{Sealer, Store};
use serde_json::json;

const HERE: Peer = Peer::Here;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn auth(duration: Duration, users: &[&str]) -> (Auth, Store, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let sealer = Sealer::new(&[0; 32]).unwrap();
    let store = Store::open(&dir.path().join("db"), sealer).await.unwrap();
    let members = json!({"owner": {"users": ["local:ann"], "groups": []}});
    store.ensure_main_team(&members).await.unwrap();
    let users: Vec<LocalUser> = users.iter().map(|user| user.parse().unwrap()).collect();
    (Auth::new(store.clone(), users, duration), store, dir)
}

#[tokio::test]
async fn a_token_says_who_its_holder_is_until_logout() {
    let hash = bcrypt::hash("pw", 4).unwrap();
    let (auth, store, dir) = auth(DAY, &["ann:pw", &format!("bob:{hash}")]).await;
    let main = store.team("main").await.unwrap().unwrap();

    let issued = auth.login("ann", "pw", HERE).await.unwrap();
    assert_eq!(issued.expires_in, DAY);
    let ann = auth.authenticate(&issued.token).await.unwrap().unwrap();
    assert_eq!(
        (ann.user_name(), ann.connector(), ann.is_admin()),
        ("ann", ConnectorName::Local, true)
    );
    assert_eq!(ann.role_on(&main), Some(Role::Admin));
    assert_eq!(ann.given_roles(&main), [Role::Owner]);

    let other = auth.login("bob", "pw", HERE).await.unwrap();
    let bob = auth.authenticate(&other.token).await.unwrap().unwrap();
    assert_eq!((bob.is_admin(), bob.role_on(&main)), (false, None));

    auth.logout(&issued.token).await.unwrap();
    assert!(auth.authenticate(&issued.token).await.unwrap().is_none());
    assert!(auth.authenticate(&other.token).await.unwrap().is_some());

    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(
            !bytes
                .windows(other.token.len())
                .any(|window| window == other.token.as_bytes())
        );
    }
}

#[tokio::test]
async fn wrong_names_and_passwords_are_denied_alike() {
    let (auth, ..) = auth(DAY, &["ann:pw"]).await;
    for (name, password) in [
        ("ann", "no"),
        ("ann", ""),
        ("nobody", "pw"),
        ("", "pw"),
        ("Ann", "pw"),
    ] {
        assert!(matches!(
            auth.login(name, password, HERE).await,
            Err(Denied::WrongPassword)
        ));
    }
    let long = "x".repeat(10_000);
    assert!(matches!(
        auth.login("ann", &long, HERE).await,
        Err(Denied::WrongPassword)
    ));
    for token in ["", "nonsense", &long] {
        assert!(auth.authenticate(token).await.unwrap().is_none());
    }
}

/// Tries all of these at once, and says how many of them are refused without a look. Some wait for
/// their turn, and are given up.
async fn refused_at_once(auth: &Auth, names: &[&str], password: &str, from: Peer) -> usize {
    let tries = names.iter().map(|name| async move {
        let tried = auth.login(name, password, from);
        tokio::time::timeout(Duration::from_millis(500), tried).await
    });
    let tried = futures::future::join_all(tries).await;
    tried
        .into_iter()
        .filter(|tried| matches!(tried, Ok(Err(Denied::TooManyTries { .. }))))
        .count()
}

fn at(last: u8) -> Peer {
    Peer::from(std::net::SocketAddr::from(([192, 0, 2, last], 1)))
}

#[tokio::test]
async fn hostile_guesses_are_slowed_down_and_lock_nobody_out_elsewhere() {
    let (auth, ..) = auth(DAY, &["ann:pw", "bob:pw"]).await;
    let refused = refused_at_once(&auth, &["ann"; 30], "guess", at(1)).await;
    assert!(refused >= 18, "{refused} of 30 guesses were refused");
    auth.login("ann", "pw", at(2)).await.unwrap();
    auth.login("bob", "pw", at(1)).await.unwrap();
    assert!(matches!(
        auth.login("ann", "pw", at(1)).await,
        Err(Denied::TooManyTries { .. })
    ));
}

#[tokio::test]
async fn hostile_lists_of_names_from_one_address_are_slowed_down() {
    let users: Vec<String> = (0..100).map(|number| format!("user{number}:pw")).collect();
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let (auth, ..) = auth(DAY, &users).await;
    let names: Vec<&str> = users
        .iter()
        .filter_map(|user| user.split(':').next())
        .collect();
    let refused = refused_at_once(&auth, &names, "guess", at(1)).await;
    assert!(refused >= 25, "{refused} of 100 names were refused");
    auth.login("user0", "pw", at(2)).await.unwrap();
}

#[tokio::test]
async fn tokens_end_with_their_time_and_their_user() {
    let (auth, ..) = self::auth(Duration::ZERO, &["ann:pw"]).await;
    let issued = auth.login("ann", "pw", HERE).await.unwrap();
    assert!(auth.authenticate(&issued.token).await.unwrap().is_none());

    let (auth, store, _dir) = self::auth(DAY, &["ann:pw"]).await;
    let issued = auth.login("ann", "pw", HERE).await.unwrap();
    let without_ann = Auth::new(store, vec!["bob:pw".parse().unwrap()], DAY);
    assert!(
        without_ann
            .authenticate(&issued.token)
            .await
            .unwrap()
            .is_none()
    );
}

/// A list of one: `Eve` with the password `pw`. It is away for the user `gone`.
struct List;

#[async_trait::async_trait]
impl Directory for List {
    fn connector(&self) -> ConnectorName {
        ConnectorName::Ldap
    }

    async fn check(&self, name: &str, password: &str) -> Result<Option<Identity>, DirectoryError> {
        assert_ne!(name, "ann", "a local user's password goes nowhere else");
        if name == "gone" {
            return Err(DirectoryError::new(std::io::Error::other("away")));
        }
        let known = name.eq_ignore_ascii_case("eve") && password == "pw";
        Ok(known.then(|| eve(ConnectorName::Ldap)))
    }
}

fn eve(connector: ConnectorName) -> Identity {
    Identity {
        connector,
        user_id: "7".into(),
        user_name: "eve".into(),
        name: "Eve".into(),
        email: "eve@example.com".into(),
        groups: vec!["ops".into()],
    }
}

#[tokio::test]
async fn a_directory_vouches_for_whoever_is_no_local_user() {
    let (_, store, _dir) = auth(DAY, &["ann:pw"]).await;
    let providers = Providers {
        directory: Some(std::sync::Arc::new(List)),
        redirecting: vec![ConnectorName::Github],
    };
    let users = vec!["ann:pw".parse().unwrap()];
    let auth = Auth::with_providers(store.clone(), users, providers, DAY);
    assert_eq!(auth.connector_of("ann"), ConnectorName::Local);
    assert_eq!(auth.connector_of("eve"), ConnectorName::Ldap);

    let issued = auth.login("eve", "pw", HERE).await.unwrap();
    let principal = auth.authenticate(&issued.token).await.unwrap().unwrap();
    assert_eq!((principal.sub(), principal.name()), ("ldap:7", "Eve"));
    assert!(!principal.is_in_a_team());
    auth.login("ann", "pw", HERE).await.unwrap();
    for (name, password) in [("ann", "no"), ("eve", "no"), ("eve", ""), ("", "pw")] {
        let denied = auth.login(name, password, HERE).await.err().unwrap();
        assert!(matches!(denied, Denied::WrongPassword), "{name} {password}");
    }
    let denied = auth.login("gone", "pw", HERE).await.err().unwrap();
    assert!(matches!(denied, Denied::Directory(_)), "{denied}");

    // However a name is spelt, its tries are counted together.
    refused_at_once(&auth, &["eve", "EVE", " eve "].repeat(10), "no", HERE).await;
    let denied = auth.login("eVe", "pw", HERE).await.err().unwrap();
    assert!(matches!(denied, Denied::TooManyTries { .. }), "{denied}");

    // A token lasts no longer than what vouched for its holder.
    let github = auth.admit(eve(ConnectorName::Github)).await.unwrap();
    assert!(auth.authenticate(&github.token).await.unwrap().is_some());
    let without = Auth::new(store, Vec::new(), DAY);
    assert!(without.authenticate(&github.token).await.unwrap().is_none());
    assert!(without.authenticate(&issued.token).await.unwrap().is_none());
}
