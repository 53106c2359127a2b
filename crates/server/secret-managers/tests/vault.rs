//! Vault's client against a stand-in for Vault.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{collections::BTreeMap, time::Duration};

use airside_secret_managers::{
    Asker, Error, Manager, Owner, Vault, VaultSettings, testing::VaultStandIn,
};
use serde_json::{Value, json};

fn settings(stand: &VaultStandIn) -> VaultSettings {
    VaultSettings {
        url: stand.url.clone(),
        client_token: "root".to_owned(),
        ..VaultSettings::default()
    }
}

fn approle(stand: &VaultStandIn) -> VaultSettings {
    let login = json!({"role_id": "r", "secret_id": "s"});
    let mut state = stand.state();
    state.logins.insert("approle/login".to_owned(), login);
    state.tokens.clear();
    VaultSettings {
        client_token: String::new(),
        auth_backend: "approle".to_owned(),
        auth_params: [("role_id", "r"), ("secret_id", "s")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..VaultSettings {
            url: stand.url.clone(),
            ..VaultSettings::default()
        }
    }
}

fn open(settings: VaultSettings) -> Vault {
    Vault::new(settings, Owner::Installation).unwrap()
}

fn value(vault: &Vault, path: &str) -> Option<Value> {
    vault.read(path).unwrap().map(|secret| secret.value)
}

#[test]
fn both_versions_of_the_engine_are_read() {
    let stand = VaultStandIn::start();
    stand.state().mounts = BTreeMap::from([("concourse/".to_owned(), 1), ("new/".to_owned(), 2)]);
    stand.keep("concourse/main/a", json!({"value": "one"}));
    stand.keep("new/main/a", json!({"value": "two"}));
    stand.keep("new/main/b", json!({"user": "u", "password": "p"}));
    let vault = open(settings(&stand));
    assert_eq!(value(&vault, "/concourse/main/a"), Some(json!("one")));
    assert_eq!(value(&vault, "/concourse/main/none"), None);
    assert_eq!(value(&vault, "/new/main/a"), Some(json!("two")));
    let both = json!({"user": "u", "password": "p"});
    assert_eq!(value(&vault, "/new/main/b"), Some(both));
    assert_eq!(value(&vault, "/new/main/none"), None);
    assert_eq!(value(&vault, "/else/where"), None);
    let leased = vault.read("/concourse/main/a").unwrap().unwrap();
    assert_eq!(leased.good_for, Some(Duration::from_secs(2_764_800 / 2)));
}

#[test]
fn mounts_are_asked_for_once_if_that_is_wanted() {
    for (remember, asked) in [(false, 3), (true, 1)] {
        let stand = VaultStandIn::start();
        let vault = open(VaultSettings {
            enable_kv_mount_cache: remember,
            ..settings(&stand)
        });
        for name in ["a", "b", "c"] {
            assert_eq!(value(&vault, &format!("/concourse/main/{name}")), None);
        }
        assert_eq!(stand.count("GET sys/internal/ui/mounts/"), asked);
    }
}

#[test]
fn a_variable_is_looked_up_where_the_settings_say() {
    let stand = VaultStandIn::start();
    let asker = Asker {
        team: "main".to_owned(),
        pipeline: Some("p".to_owned()),
        ..Asker::default()
    };
    let paths = |settings: VaultSettings, owner| {
        let vault = Vault::new(settings, owner).unwrap();
        vault.paths(&asker, "x")
    };
    let usual = ["/concourse/main/p/x", "/concourse/main/x"];
    assert_eq!(paths(settings(&stand), Owner::Installation).unwrap(), usual);
    let own = VaultSettings {
        path_prefix: "/ci/".to_owned(),
        shared_path: "all".to_owned(),
        lookup_templates: vec!["/{{.Pipeline}}-{{.Secret}}".to_owned()],
        ..settings(&stand)
    };
    let expected = ["/ci/p-x", "/ci/all/x", "/ci/x"];
    assert_eq!(paths(own, Owner::Pipeline).unwrap(), expected);
    let vault = open(settings(&stand));
    for name in ["../../sys/x", "..", "a//b"] {
        assert!(
            matches!(vault.paths(&asker, name), Err(Error::Refused(_))),
            "{name}"
        );
    }
    let odd = Asker {
        pipeline: Some("../other".to_owned()),
        ..asker
    };
    assert!(matches!(vault.paths(&odd, "x"), Err(Error::Refused(_))));
}

#[test]
fn hostile_names_do_not_find_the_secrets_of_another_team() {
    let stand = VaultStandIn::start();
    stand.keep("concourse/victim/password", json!({"value": "hunter2"}));
    let vault = open(VaultSettings {
        lookup_templates: vec![
            "/{{.Team}}/{{.Secret}}".to_owned(),
            "/{{.Secret}}".to_owned(),
        ],
        shared_path: "shared".to_owned(),
        ..settings(&stand)
    });
    let asker = |team: &str| Asker {
        team: team.to_owned(),
        pipeline: Some("p".to_owned()),
        ..Asker::default()
    };
    let paths = vault.paths(&asker("attacker"), "victim/password").unwrap();
    let expected = [
        "/concourse/attacker/victim/password",
        "/concourse/shared/victim/password",
    ];
    assert_eq!(paths, expected);
    for path in paths {
        assert_eq!(value(&vault, &path), None, "{path}");
    }
    assert!(matches!(
        vault.paths(&asker("shared"), "x"),
        Err(Error::Refused(_))
    ));
}

#[test]
fn a_role_logs_in_once_and_again_when_its_token_was_taken_away() {
    let stand = VaultStandIn::start();
    let settings = approle(&stand);
    stand.keep("concourse/a", json!({"value": 1}));
    let vault = open(VaultSettings {
        // As old as it may get, so that the second read logs in again.
        auth_backend_max_ttl: Duration::from_nanos(1),
        ..settings.clone()
    });
    assert_eq!(value(&vault, "concourse/a"), Some(json!(1)));
    assert_eq!(value(&vault, "concourse/a"), Some(json!(1)));
    assert_eq!(stand.count("POST auth/approle/login"), 2);
    let vault = open(settings);
    for _ in 0..3 {
        assert_eq!(value(&vault, "concourse/a"), Some(json!(1)));
    }
    assert_eq!(stand.count("POST auth/approle/login"), 3);
    // Just got, and refused: another one would be refused too.
    let error = loop {
        stand.state().tokens.clear();
        match vault.read("concourse/a") {
            // Not just got any more, on a machine that stood still: now it is.
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let words = "Vault answers for the secret concourse/a with 403: permission denied";
    assert_eq!(error, Error::Refused(words.to_owned()));
}

#[test]
fn a_lease_that_ends_soon_is_renewed() {
    let stand = VaultStandIn::start();
    stand.state().lease = 1;
    let vault = open(settings(&stand));
    let next = vault.tend().unwrap();
    assert!(next <= Duration::from_secs(1), "{next:?}");
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while stand.count("POST auth/token/renew-self") == 0 {
        assert!(std::time::Instant::now() < deadline);
        assert_eq!(value(&vault, "concourse/none"), None);
    }
}

#[test]
fn kubernetes_logs_in_with_the_token_that_is_in_the_file_now() {
    let stand = VaultStandIn::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let login = |jwt: &str| json!({"role": "ci", "jwt": jwt});
    let put = |jwt: &str| {
        std::fs::write(&file, format!("{jwt}\n")).unwrap();
        let mut state = stand.state();
        state.logins.insert("k8s/login".to_owned(), login(jwt));
    };
    put("first");
    let vault = open(VaultSettings {
        url: stand.url.clone(),
        auth_backend: "k8s".to_owned(),
        auth_params: BTreeMap::from([("role".to_owned(), "ci".to_owned())]),
        auth_param_files: BTreeMap::from([("jwt".to_owned(), file.clone())]),
        auth_backend_max_ttl: Duration::from_nanos(1),
        ..VaultSettings::default()
    });
    assert_eq!(value(&vault, "concourse/none"), None);
    put("second");
    assert_eq!(value(&vault, "concourse/none"), None);
    assert_eq!(stand.count("POST auth/k8s/login"), 2);
}

#[test]
fn a_refused_login_is_not_tried_again_at_once() {
    let stand = VaultStandIn::start();
    let mut settings = approle(&stand);
    settings
        .auth_params
        .insert("secret_id".to_owned(), "hunter2".to_owned());
    settings.auth_retry_initial = Duration::from_secs(600);
    settings.auth_retry_max = Duration::from_secs(600);
    let vault = open(settings);
    for _ in 0..5 {
        let error = vault.read("concourse/a").unwrap_err();
        let words =
            "Vault answers the login at auth/approle/login with 400: invalid role or secret ID";
        assert_eq!(error, Error::Refused(words.to_owned()));
    }
    assert_eq!(stand.count("POST auth/approle/login"), 1);
}

#[test]
fn trouble_passes_and_a_wrong_namespace_has_nothing() {
    let stand = VaultStandIn::start();
    stand.keep("concourse/a", json!({"value": 1}));
    stand.state().namespace = Some("team/ci".to_owned());
    let within = |namespace: &str| {
        open(VaultSettings {
            namespace: namespace.to_owned(),
            ..settings(&stand)
        })
    };
    let vault = within("team/ci/");
    stand.state().trouble = 1;
    let error = vault.read("concourse/a").unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(value(&vault, "concourse/a"), Some(json!(1)));
    assert!(within("other").read("concourse/a").is_err());
    let (method, health) = vault.health();
    assert_eq!(
        (method, health.unwrap()["sealed"].clone()),
        ("/v1/sys/health", json!(false))
    );
    assert!(!vault.shown().to_string().contains("root"));
    let nobody = open(VaultSettings {
        url: "http://127.0.0.1:1".to_owned(),
        ..settings(&stand)
    });
    assert!(nobody.read("a").unwrap_err().is_transient());
}
