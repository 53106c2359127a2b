//! The clients of AWS against moto, an implementation of AWS by others, which checks signatures, too. Where it is not
//! there (`dev/setup` puts it into the cache), these tests say so and are skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use airside_aws::{Keys, Signer, xml};
use airside_outbound::{Client, Trust};
use airside_secrets::{
    Asker, AwsSettings, Manager, Owner, SecretsManager, SecretsManagerSettings, Ssm, SsmSettings,
};
use serde_json::{Value, json};

const REGION: &str = "eu-west-1";

struct Moto {
    process: Child,
    url: String,
    keys: Keys,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, if it is there.
fn program() -> Option<PathBuf> {
    let given = std::env::var_os("AIRSIDE_MOTO").map(PathBuf::from);
    let cache = std::env::var_os("AIRSIDE_CACHE").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/airside"));
    let cached = cache
        .or(home)
        .map(|cache| cache.join("moto/bin/moto_server"));
    given.or(cached).filter(|program| program.exists())
}

impl Moto {
    fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("moto is not there; skipped");
            return None;
        };
        let mut process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            // So many calls make a user; all others are signed by somebody, and checked.
            .env("INITIAL_NO_AUTH_ACTION_COUNT", "3")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let start = line.find("http://127.0.0.1:")?;
                Some(line[start..].split_whitespace().next()?.to_owned())
            })
            .expect("moto says where it is");
        // What nobody reads would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let nobody = Keys {
            id: "x".to_owned(),
            secret: "x".to_owned(),
            token: None,
        };
        let mut moto = Self {
            process,
            url,
            keys: nobody,
        };
        moto.make_user();
        Some(moto)
    }

    fn make_user(&mut self) {
        let form = |body: &str| {
            let headers = [("Content-Type", "application/x-www-form-urlencoded")];
            self.call(
                "iam",
                &headers,
                &format!("{body}&Version=2010-05-08&UserName=u"),
            )
        };
        form("Action=CreateUser");
        let policy = json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "*", "Resource": "*"}]});
        let policy: String = policy
            .to_string()
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect();
        form(&format!(
            "Action=PutUserPolicy&PolicyName=p&PolicyDocument={policy}"
        ));
        let made = form("Action=CreateAccessKey");
        self.keys = Keys {
            id: xml::text(&made, "AccessKeyId").unwrap(),
            secret: xml::text(&made, "SecretAccessKey").unwrap(),
            token: None,
        };
    }

    fn call(&self, service: &str, headers: &[(&str, &str)], body: &str) -> String {
        let client = Client::new(&Trust::Public).unwrap();
        let signer = Signer {
            keys: &self.keys,
            region: REGION,
            service,
        };
        let answer = airside_aws::call(&client, &signer, &self.url, headers, body);
        String::from_utf8(answer.unwrap()).unwrap()
    }

    fn put(&self, service: &str, target: &str, body: &Value) {
        let headers = [
            ("X-Amz-Target", target),
            ("Content-Type", "application/x-amz-json-1.1"),
        ];
        self.call(service, &headers, &body.to_string());
    }

    fn settings(&self) -> AwsSettings {
        AwsSettings {
            access_key: self.keys.id.clone(),
            secret_key: self.keys.secret.clone(),
            region: REGION.to_owned(),
            endpoint: Some(self.url.clone()),
            ..AwsSettings::default()
        }
    }
}

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
    let put = |name: &str, value: &str| {
        let body = json!({"Name": name, "Value": value, "Type": "SecureString"});
        moto.put("ssm", "AmazonSSM.PutParameter", &body);
    };
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
    let put = |name: &str, more: Value| {
        let mut body = json!({"Name": name, "ClientRequestToken": "0".repeat(32)});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        moto.put("secretsmanager", "secretsmanager.CreateSecret", &body);
    };
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
    let words = "the binary secret /concourse/noise is no JSON object";
    assert_eq!(error.to_string(), words);
    assert_eq!(manager.health().1.unwrap(), json!({"status": "UP"}));
}
