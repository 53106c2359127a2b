//! Credentials: where values come from, and that they are nowhere afterwards.

use std::fs;

use airside_scenarios::{
    Fifo, Fly, Server, ServerOptions,
    plans::{config, task},
    secrecy::{SECRET, everywhere, expect_redacted, files_with},
    wait_until,
};
use airside_secret_managers::testing::VaultStandIn;
use serde_json::{Value, json};

/// Processes of this machine whose arguments hold a text.
fn arguments_with(text: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .filter(|arguments| arguments.contains(text))
        .collect()
}

fn run(fly: &Fly, text: &str) -> (i32, String) {
    fly.pipeline("p", text);
    let output = fly.trigger_and_watch("p/job");
    (output.code.unwrap(), output.lines().join("\n"))
}

#[test]
fn a_secret_of_the_installations_vault_is_used_and_is_nowhere_afterwards() {
    // Of this test alone: it looks at all processes of the machine.
    let secret = &format!("{SECRET}-alone");
    let vault = VaultStandIn::start();
    vault.keep("concourse/main/p/word", json!({"value": secret}));
    vault.keep("concourse/main/word", json!({"value": "of the team"}));
    let login = json!({"role_id": "r", "secret_id": "s3cr3t-1d"});
    vault
        .state()
        .logins
        .insert("approle/login".to_owned(), login);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("secret-id");
    fs::write(&file, "s3cr3t-1d\n").unwrap();
    let file = format!("secret_id:{}", file.display());
    let args = [
        "--vault-url",
        &vault.url,
        "--vault-auth-backend",
        "approle",
        "--vault-auth-param",
        "role_id:r",
        "--vault-auth-param-file",
        &file,
        "--log-level",
        "debug",
    ];
    let mut server = ServerOptions::new().args(args).start();
    let fly = server.fly();
    let gate = "mkfifo /tmp/gate; read -r _ </tmp/gate";
    fly.pipeline("p", &everywhere("word", gate).to_string());
    let watching = fly.spawn(&["trigger-job", "-j", "p/job", "-w"]);
    let gate = Fifo::seen_by_step(&server.data(), "/tmp/gate");
    assert_eq!(files_with(&server.data(), secret), [""; 0], "while it runs");
    for arguments in arguments_with(secret) {
        // The step's own script, and no other argument.
        assert!(arguments.starts_with("bash\0-c\0mkfifo"), "{arguments}");
    }
    gate.feed("\n");
    let output = watching.wait();
    let printed = output.lines().join("\n");
    assert_eq!(output.code, Some(0), "{printed}");
    expect_redacted(&printed);
    let checked = fly.run(&["check-resource", "-r", "p/src"]).succeeded();
    let printed = checked.lines().join("\n");
    assert!(!printed.contains(secret), "{printed}");

    let creds = fly.run(&["curl", "/api/v1/info/creds"]).succeeded();
    let creds: Value = serde_json::from_str(&creds.stdout).unwrap();
    assert_eq!(creds["vault"]["url"], json!(vault.url), "{creds}");
    assert_eq!(
        creds["vault"]["health"]["response"]["sealed"], false,
        "{creds}"
    );

    server.stop();
    // The search finds what is there: this the task printed of its own will.
    assert_ne!(files_with(&server.data(), &secret.to_uppercase()), [""; 0]);
    for secret in [secret, "s3cr3t-1d"] {
        assert_eq!(files_with(&server.data(), secret), [""; 0]);
        assert!(!server.log().contains(secret), "{}", server.log());
    }
}

#[test]
fn a_pipelines_own_vault_is_asked_by_its_teams_checker() {
    let (vault, keys) = (VaultStandIn::start(), VaultStandIn::start());
    vault.state().mounts.insert("kv/".to_owned(), 2);
    vault.state().tokens = vec!["t0ken-of-the-pipeline".to_owned()];
    vault.keep("kv/main/p/db", json!({"password": SECRET, "user": "u"}));
    keys.keep("concourse/token", json!({"value": "t0ken-of-the-pipeline"}));
    let server = Server::start();
    let fly = server.fly();
    let mut text = json!({
        "var_sources": [
            {"name": "v", "type": "vault", "config": {"url": vault.url, "path_prefix": "/kv",
                "client_token": "((k:token))"}},
            {"name": "k", "type": "vault", "config": {"url": keys.url, "client_token": "root"}},
        ],
    });
    let rest = everywhere("v:db.password", "true");
    text.as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    let (code, printed) = run(&fly, &text.to_string());
    assert_eq!(code, 0, "{printed}");
    expect_redacted(&printed);
    // The server has no connection of its own; a check process has, as user nobody.
    assert!(vault.count("GET kv/data/main/p/db") > 0);
    assert_eq!(files_with(&server.data().join("logs"), SECRET), [""; 0]);

    vault.state().tokens.clear();
    let (code, printed) = run(&fly, &text.to_string());
    assert_eq!(code, 2, "{printed}");
    let words =
        "cannot look up var 'db.password': Vault answers for the secret kv/main/p/db with 403";
    assert!(printed.contains(words), "{printed}");
}

#[test]
fn trouble_of_a_manager_is_waited_out_and_answers_are_kept_if_wanted() {
    let vault = VaultStandIn::start();
    vault.keep("concourse/main/word", json!({"value": SECRET}));
    let server = ServerOptions::new()
        .args([
            "--vault-url",
            &vault.url,
            "--vault-client-token",
            "root",
            "--secret-retry-interval",
            "10ms",
            "--secret-cache-enabled",
            "--secret-cache-duration",
            "1h",
        ])
        .start();
    let fly = server.fly();
    wait_until("the server has logged in", || {
        vault.count("GET auth/token/lookup-self") > 0
    });
    vault.state().trouble = 3;
    let text =
        json!({"jobs": [{"name": "job", "plan": [task("t", "echo ((word)) | tr a-z A-Z")]}]});
    for _ in 0..2 {
        let (code, printed) = run(&fly, &text.to_string());
        assert_eq!(code, 0, "{printed}");
        assert!(printed.contains(&SECRET.to_uppercase()), "{printed}");
    }
    assert_eq!(vault.count("GET concourse/main/word"), 1);
}

#[test]
fn credentials_can_be_checked_when_a_pipeline_is_set() {
    let vault = VaultStandIn::start();
    vault.keep("concourse/main/known", json!({"value": "x", "field": 1}));
    let args = ["--vault-url", &vault.url, "--vault-client-token", "root"];
    let server = ServerOptions::new().args(args).start();
    let fly = server.fly();
    let file = server.home().join("p.yml");
    let set = |script: &str| {
        let source = json!([{"name": "s", "type": "dummy", "config": {"vars": {"a": 1}}}]);
        let step = json!({"task": "t", "config": config(script)});
        let text = json!({"var_sources": source, "jobs": [{"name": "job", "plan": [step]}]});
        fs::write(&file, text.to_string()).unwrap();
        let file = file.to_str().unwrap();
        let args = ["set-pipeline", "-n", "-p", "p", "-c", file, "--check-creds"];
        let output = fly.run(&args);
        (output.code, format!("{}{}", output.stdout, output.stderr))
    };
    let (code, said) = set("echo ((known)) ((s:a))");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = set("echo ((known)) ((unknown)) ((s:b))");
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.contains("failed to interpolate task config: undefined vars: s:b, unknown"),
        "{said}"
    );
}

#[test]
fn settings_hold_variables_for_trials() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("vars");
    fs::write(&file, format!("main/p/word={SECRET}\nother/word=else\n")).unwrap();
    let file = file.display().to_string();
    let args = [
        "--dummy-creds-var-file",
        &file,
        "--dummy-creds-var",
        "list=[1, two]",
    ];
    let server = ServerOptions::new().args(args).start();
    let fly = server.fly();
    let steps = |name: &str| {
        let across = json!({"across": [{"var": "n", "values": "((list))"}], "task": "t",
            "config": config(&format!("echo n-((.:n)) (({name})) | tr a-z A-Z"))});
        json!({"jobs": [{"name": "job", "plan": [across]}]}).to_string()
    };
    let (code, printed) = run(&fly, &steps("word"));
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains(&format!("N-TWO {}", SECRET.to_uppercase())),
        "{printed}"
    );
    let (code, printed) = run(&fly, &steps("nobody"));
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains("undefined vars: nobody"), "{printed}");
}
