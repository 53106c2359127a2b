//! The clients of AWS against moto, an implementation of AWS by others.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use airside_secret_managers::{
    Asker, Manager, Owner, SecretsManager, SecretsManagerSettings, Ssm, SsmSettings,
    testing::{AwsStandIn, Moto},
};
use serde_json::{Value, json};

fn value(manager: &dyn Manager, path: &str) -> Option<Value> {
    manager.read(path).unwrap().map(|secret| secret.value)
}

fn asker() -> Asker {
    Asker {
        team: "main".to_owned(),
        pipeline: Some("p".to_owned()),
        ..Asker::default()
    }
}

#[test]
fn parameters_are_read_one_by_one_and_as_trees() {
    let Some(moto) = Moto::start() else {
        return;
    };
    let put = |name: &str, value: &str| moto.put_parameter(name, value);
    put("/concourse/main/word", "hunter2");
    for number in 0..23 {
        put(&format!("/concourse/main/tree/branch-{number}"), "leaf");
    }
    put("/concourse/main/tree/deep/er", "twig");
    put("/concourse/main/treehouse", "no");
    let settings = SsmSettings {
        aws: moto.settings(),
        shared_path: "/concourse/shared".to_owned(),
        ..SsmSettings::default()
    };
    let ssm = Ssm::new(settings.clone(), Owner::Installation).unwrap();
    let expected = [
        "/concourse/main/p/x",
        "/concourse/main/x",
        "/concourse/shared/x",
    ];
    assert_eq!(ssm.paths(&asker(), "x").unwrap(), expected);
    assert_eq!(value(&ssm, "/concourse/main/word"), Some(json!("hunter2")));
    assert_eq!(value(&ssm, "/concourse/main/none"), None);
    let tree = value(&ssm, "/concourse/main/tree").unwrap();
    assert_eq!(tree.as_object().unwrap().len(), 24, "{tree}");
    assert_eq!(tree["deep/er"], "twig");
    assert_eq!(ssm.health().1.unwrap(), json!({"status": "UP"}));

    let mut wrong = settings;
    wrong.aws.secret_key = "wrong".to_owned();
    let wrong = Ssm::new(wrong, Owner::Pipeline).unwrap();
    let error = wrong.read("/concourse/main/word").unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("AWS answers AmazonSSM.GetParameter with "),
        "{error}"
    );
    assert!(!error.to_string().contains("wrong"), "{error}");
}

#[test]
fn secrets_are_texts_or_fields() {
    let Some(moto) = Moto::start() else {
        return;
    };
    let put = |name: &str, more: Value| moto.put_secret(name, &more);
    put("/concourse/main/p/text", json!({"SecretString": "hunter2"}));
    put(
        "/concourse/main/fields",
        json!({"SecretString": r#"{"user": "u", "n": 1}"#}),
    );
    put(
        "/concourse/bytes",
        json!({"SecretBinary": "eyJrIjogInYifQ=="}),
    );
    put("/concourse/noise", json!({"SecretBinary": "AAEC"}));
    put("/concourse/gone", json!({"SecretString": "x"}));
    let delete = json!({"SecretId": "/concourse/gone"});
    moto.put("secretsmanager", "secretsmanager.DeleteSecret", &delete);
    let settings = SecretsManagerSettings {
        aws: moto.settings(),
        ..SecretsManagerSettings::default()
    };
    let manager = SecretsManager::new(settings, Owner::Installation).unwrap();
    let expected = ["/concourse/main/p/x", "/concourse/main/x", "/concourse/x"];
    assert_eq!(manager.paths(&asker(), "x").unwrap(), expected);
    for (path, found) in [
        ("/concourse/main/p/text", Some(json!("hunter2"))),
        ("/concourse/main/fields", Some(json!({"user": "u", "n": 1}))),
        ("/concourse/bytes", Some(json!({"k": "v"}))),
        ("/concourse/gone", None),
        ("/concourse/none", None),
    ] {
        assert_eq!(value(&manager, path), found, "{path}");
    }
    let error = manager.read("/concourse/noise").unwrap_err();
    let words = "the binary secret /concourse/noise is not a JSON object";
    assert_eq!(error.to_string(), words);
    assert_eq!(manager.health().1.unwrap(), json!({"status": "UP"}));
}

#[test]
fn hostile_names_do_not_find_the_secrets_of_another_team() {
    let aws = AwsStandIn::start();
    aws.keep("/concourse/victim/password", "hunter2");
    aws.keep("/concourse/word", "shared");
    aws.keep("/concourse/common/word", "shared, too");
    let secrets = SecretsManagerSettings {
        aws: aws.settings(),
        shared_prefixes: vec!["common/".to_owned()],
        ..SecretsManagerSettings::default()
    };
    let parameters = SsmSettings {
        aws: aws.settings(),
        shared_path: "/concourse".to_owned(),
        shared_prefixes: vec!["common/".to_owned()],
        ..SsmSettings::default()
    };
    let managers: [Box<dyn Manager>; 2] = [
        Box::new(SecretsManager::new(secrets, Owner::Installation).unwrap()),
        Box::new(Ssm::new(parameters, Owner::Installation).unwrap()),
    ];
    for manager in &managers {
        let find = |team: &str, name: &str| {
            let asker = Asker {
                team: team.to_owned(),
                ..asker()
            };
            let paths = manager.paths(&asker, name).unwrap();
            paths.iter().find_map(|path| value(&**manager, path))
        };
        for name in ["victim/password", "victim", "victim/p/password"] {
            assert_eq!(find("attacker", name), None, "{name}");
        }
        assert_eq!(find("victim", "password"), Some(json!("hunter2")));
        assert_eq!(find("attacker", "word"), Some(json!("shared")));
        assert_eq!(find("attacker", "common/word"), Some(json!("shared, too")));
    }
    let asked = aws.asked();
    assert!(
        asked.contains(&"/concourse/attacker/victim/password".to_owned()),
        "{asked:?}"
    );
}
