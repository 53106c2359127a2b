//! Logging in against a real slapd.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{io::Write, time::Duration};

use airside_auth::{ConnectorName, Directory, Identity};
use airside_identity_providers::{Ldap, LdapConfig, LdapTls, Secret, testing::Slapd};

async fn check(
    config: &LdapConfig,
    name: &str,
    password: &str,
) -> Result<Option<Identity>, String> {
    let ldap = Ldap::new(config.clone()).unwrap();
    let checked = ldap.check(name, password).await;
    checked.map_err(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    })
}

#[tokio::test]
async fn users_log_in_with_and_without_tls() {
    let slapd = Slapd::start();
    for tls in [LdapTls::Plain, LdapTls::StartTls, LdapTls::Ldaps] {
        let config = slapd.config(tls);
        let ann = check(&config, "ann", "ann-pw").await.unwrap().unwrap();
        let expected = Identity {
            connector: ConnectorName::Ldap,
            user_id: "ann".into(),
            user_name: String::new(),
            name: "Ann Lee".into(),
            email: "ann@example.com".into(),
            groups: vec!["ops".into()],
        };
        assert_eq!(ann, expected, "{tls:?}");
        assert_eq!(check(&config, "ann", "no").await, Ok(None), "{tls:?}");
    }
}

#[tokio::test]
async fn names_are_names_and_passwords_are_needed() {
    let slapd = Slapd::start();
    let config = slapd.config(LdapTls::Plain);
    let bob = check(&config, "b*b(\\)", "bob-pw").await.unwrap().unwrap();
    assert_eq!(
        (&*bob.user_id, &*bob.groups),
        ("b*b(\\)", &["bobs".to_owned()][..])
    );
    for (name, password) in [
        ("ann", ""),
        ("", "ann-pw"),
        ("*", "ann-pw"),
        ("a*", "ann-pw"),
        ("ann)(uid=*", "ann-pw"),
        ("ann)(|(uid=*)", "ann-pw"),
        ("nobody", "ann-pw"),
        ("ann\0", "ann-pw"),
    ] {
        let checked = check(&config, name, password).await;
        assert_eq!(checked, Ok(None), "{name:?} {password:?}");
    }
    let twin = check(&config, "twin", "twin-pw").await.unwrap_err();
    assert!(twin.contains("2 entries"), "{twin}");
}

#[tokio::test]
async fn what_is_missing_or_wrong_in_the_settings_is_said() {
    let slapd = Slapd::start();
    let good = slapd.config(LdapTls::Plain);

    let mut config = good.clone();
    config.bind = Some(("cn=reader,dc=example,dc=com".into(), Secret::new("hunter2")));
    let text = check(&config, "ann", "ann-pw").await.unwrap_err();
    assert!(
        text.contains("cn=reader") && text.contains("bind DN"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");

    let mut config = good.clone();
    config.bind = None;
    assert_eq!(
        check(&config, "ann", "ann-pw").await,
        Ok(None),
        "nobody may search"
    );

    let mut config = good.clone();
    config.users.id = "employeeNumber".into();
    let text = check(&config, "ann", "ann-pw").await.unwrap_err();
    assert!(text.contains("employeeNumber"), "{text}");

    let mut config = good.clone();
    config.groups = None;
    let ann = check(&config, "ann", "ann-pw").await.unwrap().unwrap();
    assert!(ann.groups.is_empty());

    let mut config = good.clone();
    config.users.base = "ou=nowhere,dc=example,dc=com".into();
    assert_eq!(check(&config, "ann", "ann-pw").await, Ok(None));

    let mut config = good;
    config.users.filter = Some("(objectClass=".into());
    assert!(Ldap::new(config).is_err());
}

#[tokio::test]
async fn a_certificate_must_be_of_a_known_authority() {
    let (slapd, other) = (Slapd::start(), Slapd::start());
    for tls in [LdapTls::StartTls, LdapTls::Ldaps] {
        let mut config = slapd.config(tls);
        config.ca = other.config(tls).ca;
        let text = check(&config, "ann", "ann-pw").await.unwrap_err();
        assert!(text.contains("cannot reach ldap"), "{text}");
    }
}

#[tokio::test]
async fn a_directory_that_is_gone_silent_or_mad_is_an_error() {
    let mut slapd = Slapd::start();
    let mut config = slapd.config(LdapTls::Plain);
    slapd.stop();
    let text = check(&config, "ann", "ann-pw").await.unwrap_err();
    assert!(text.contains("cannot reach"), "{text}");

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config.host = silent.local_addr().unwrap().to_string();
    config.patience = Duration::from_millis(300);
    let text = check(&config, "ann", "ann-pw").await.unwrap_err();
    assert!(text.contains("did not answer"), "{text}");

    for nonsense in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        &[0x30, 0x03, 0x02, 0x01, 0x01],
        &[0xff; 64],
    ] {
        let mad = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        config.host = mad.local_addr().unwrap().to_string();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = mad.accept().unwrap();
            stream.write_all(nonsense).unwrap();
        });
        check(&config, "ann", "ann-pw").await.unwrap_err();
        answering.join().unwrap();
    }
}
