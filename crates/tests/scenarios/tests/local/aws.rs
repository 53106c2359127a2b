//! AWS as the installation's secret manager, and as a pipeline's: from the pipeline to what is left
//! of the secret. What stands for AWS is moto.

use std::fs;

use airside_scenarios::{
    Fly, Server, ServerOptions,
    plans::task,
    secrecy::{SECRET, everywhere, expect_redacted, files_with},
};
use airside_secret_managers::testing::{Moto, ROLE};
use serde_json::{Value, json};

/// Keeps the secret under a name.
type Keep = fn(&Moto, &str);

const SERVICES: [(&str, Keep); 2] = [
    ("ssm", |moto, name| moto.put_parameter(name, SECRET)),
    ("secretsmanager", |moto, name| {
        moto.put_secret(name, &json!({"SecretString": SECRET}));
    }),
];

fn server(moto: &Moto) -> ServerOptions {
    ServerOptions::new().env("AWS_ENDPOINT_URL", &moto.url)
}

fn use_everywhere(fly: &Fly, pipeline: &Value) {
    fly.pipeline("p", &pipeline.to_string());
    let output = fly.trigger_and_watch("p/job");
    let printed = output.lines().join("\n");
    assert_eq!(output.code, Some(0), "{printed}");
    expect_redacted(&printed);
}

/// None of these is in a file of the server, nor in its log.
fn is_nowhere(mut server: Server, secrets: &[&str]) {
    server.stop();
    // The search finds what is there: this the task printed of its own will.
    assert_ne!(files_with(&server.data(), &SECRET.to_uppercase()), [""; 0]);
    for secret in secrets {
        assert_eq!(files_with(&server.data(), secret), [""; 0]);
        assert!(!server.log().contains(secret), "{}", server.log());
    }
}

#[test]
fn a_secret_of_the_installations_aws_is_used_and_is_nowhere_afterwards() {
    for (service, keep) in SERVICES {
        let Some(moto) = Moto::start() else {
            return;
        };
        keep(&moto, "/concourse/main/p/word");
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("key");
        fs::write(&file, &moto.keys.secret).unwrap();
        let option =
            |name: &str, value: &str| [format!("--aws-{service}-{name}"), value.to_owned()];
        let server = server(&moto)
            .args(option("region", Moto::REGION))
            .args(option("access-key", &moto.keys.id))
            .args(option("secret-key-file", file.to_str().unwrap()))
            .args(["--log-level", "debug"])
            .start();
        let fly = server.fly();
        use_everywhere(&fly, &everywhere("word", "true"));
        let creds = fly.run(&["curl", "/api/v1/info/creds"]).succeeded();
        assert!(
            creds.stdout.contains(r#""status":"UP""#),
            "{}",
            creds.stdout
        );
        is_nowhere(server, &[SECRET, &moto.keys.secret]);
    }
}

#[test]
fn a_pipelines_own_aws_is_asked_with_its_own_keys() {
    let Some(moto) = Moto::start() else {
        return;
    };
    let server = server(&moto).start();
    let fly = server.fly();
    for (service, keep) in SERVICES {
        keep(&moto, "/concourse/main/word");
        let source = |secret: &str| {
            let config =
                json!({"region": Moto::REGION, "access_key": moto.keys.id, "secret_key": secret});
            json!([{"name": "aws", "type": service, "config": config}])
        };
        let mut pipeline = everywhere("aws:word", "true");
        pipeline["var_sources"] = source(&moto.keys.secret);
        use_everywhere(&fly, &pipeline);

        pipeline["var_sources"] = source("an0ther-k3y");
        pipeline["jobs"][0]["plan"] = json!([task("use", "echo ((aws:word))")]);
        pipeline["resources"] = json!([]);
        fly.pipeline("p", &pipeline.to_string());
        let output = fly.trigger_and_watch("p/job");
        let printed = output.lines().join("\n");
        assert_eq!(output.code, Some(2), "{printed}");
        assert!(
            printed.contains("cannot look up var 'word': AWS answers"),
            "{printed}"
        );
    }
    is_nowhere(server, &[SECRET, &moto.keys.secret, "an0ther-k3y"]);
}

#[test]
fn a_server_is_to_aws_the_role_that_its_token_is_good_for() {
    let Some(moto) = Moto::start() else {
        return;
    };
    moto.put_parameter("/concourse/main/p/word", SECRET);
    // All that the documentation says is needed, and nothing else.
    moto.make_role(&["ssm:GetParameter", "ssm:GetParametersByPath"]);
    let home = tempfile::tempdir().unwrap();
    let token = home.path().join("token");
    fs::write(&token, "t0ken-of-the-server\n").unwrap();
    let server = server(&moto)
        .env("AWS_ROLE_ARN", ROLE)
        .env("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap())
        .args(["--aws-ssm-region", Moto::REGION, "--log-level", "debug"])
        .start();
    use_everywhere(&server.fly(), &everywhere("word", "true"));
    is_nowhere(server, &[SECRET, "t0ken-of-the-server"]);
}
