//! Settings of the real program: three ways to give each, and what it says about wrong ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::collections::BTreeMap;

use support::{Home, airside, refusal, text};

/// `name: value` and where it came from, as `--print-config` tells.
fn printed(command: &mut std::process::Command) -> BTreeMap<String, (String, String)> {
    let output = command.arg("--print-config").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    let set = lines.lines().filter(|line| !line.starts_with('#'));
    set.map(|line| {
        let (setting, origin) = line.rsplit_once(" # ").unwrap();
        let (name, value) = setting.split_once(": ").unwrap();
        (
            name.to_owned(),
            (value.trim().to_owned(), origin.trim().to_owned()),
        )
    })
    .collect()
}

/// Every name that `--print-config` knows, set or not.
fn names() -> Vec<String> {
    let output = airside().args(["web", "--print-config"]).output().unwrap();
    let lines = text(&output.stdout);
    let names = lines.lines().map(|line| line.trim_start_matches("# "));
    names
        .map(|line| line.split_once(':').unwrap().0.to_owned())
        .collect()
}

/// A value that the setting accepts and that is not its default.
fn example(name: &str) -> &'static str {
    match name {
        "listen" | "hub-listen" | "metrics-listen" | "registry-listen" => "127.0.0.1:4711",
        "external-url" | "otlp-endpoint" => "https://ci.example.com",
        "database-url" => "postgres://ci:secret@db/ci",
        "user" => "somebody:secret",
        "local-worker" | "local-host-access" | "local-metadata-access" => "true",
        "local-ids" => "100000:655360",
        "registry-mirror" => "docker.io=mirror.example.com:5000",
        "local-network" => "machine",
        "local-network-pool" | "trusted-proxy" => "10.99.0.0/16",
        "local-processes" | "max-kept-containers" => "99",
        "keep-failed"
        | "keep-one-off"
        | "intercept-idle-timeout"
        | "resource-checking-interval"
        | "resource-with-webhook-checking-interval"
        | "keep-unused-images"
        | "agent-lost-after"
        | "global-resource-check-timeout" => "90m",
        "disk-high-watermark" => "85",
        "disk-low-watermark" => "75",
        _ if name.contains("-retain") => "7",
        "max-checks-per-second" => "2.5",
        "minimum-build-spacing" => "main=3s",
        "max-step-output" | "max-build-output" => "5MiB",
        "team-quota" => "main/volumes=5GiB",
        "secret-retry-attempts" => "7",
        "secret-shared-prefix" => "common/",
        "vault-url" => "https://vault.example.com",
        "vault-auth-param" | "dummy-creds-var" => "name=value",
        _ if name.starts_with("secret-") && name.ends_with("-enabled") => "true",
        _ if name.starts_with("vault-enable-") => "true",
        _ if is_time(name) => "90m",
        "ldap-user-search-scope" | "ldap-group-search-scope" => "one",
        _ if name.contains("-disable-") || name.contains("-skip-") => "true",
        "ldap-start-tls" | "ldap-insecure-no-ssl" | "kubernetes-in-cluster" => "true",
        "log-format" => "json",
        "log-level" => "debug",
        _ => "/some/file",
    }
}

fn is_time(name: &str) -> bool {
    let of_secrets = name.starts_with("secret-") || name.starts_with("vault-");
    let ends = [
        "-interval",
        "-duration",
        "-duration-notfound",
        "-timeout",
        "-ttl",
        "-retry-max",
        "-retry-initial",
        "-period",
    ];
    (of_secrets || name.contains("signing-key")) && ends.iter().any(|end| name.ends_with(end))
}

#[test]
fn every_setting_can_be_given_in_three_ways_that_agree() {
    let names = names();
    assert!(names.len() > 15, "{names:?}");
    for name in &names {
        let value = example(name);
        let home = Home::new();
        let file = home.file("airside.yml", &format!("{name}: \"{value}\"\n"));
        let variable = format!("AIRSIDE_{}", name.to_uppercase().replace('-', "_"));

        let by_option = printed(airside().arg("web").arg(format!("--{name}={value}")));
        let by_variable = printed(airside().arg("web").env(&variable, value));
        let by_file = printed(airside().arg("web").arg("--config").arg(&file));
        assert_eq!(by_option[name].0, by_variable[name].0, "{name}");
        assert_eq!(by_option[name].0, by_file[name].0, "{name}");
        assert!(!by_file[name].0.contains("secret"), "{name} is not hidden");
        assert_eq!(by_option[name].1, format!("--{name}"));
        assert_eq!(by_variable[name].1, variable);
        assert_eq!(by_file[name].1, format!("{}:1", file.display()));

        // The first in the order wins; the other values are never read.
        let both = printed(
            airside()
                .args(["web", "--config"])
                .arg(&file)
                .env(&variable, value),
        );
        assert_eq!(
            both[name].1, variable,
            "{name}: a variable wins over the file"
        );
        let all = printed(
            airside()
                .args(["web", "--config"])
                .arg(&file)
                .arg(format!("--{name}={value}"))
                .env(&variable, value),
        );
        assert_eq!(all[name].1, format!("--{name}"), "{name}: an option wins");
    }
}

#[test]
fn the_file_can_be_named_by_a_variable_and_is_refused_with_its_place() {
    let home = Home::new();
    let file = home.file("airside.yml", "data: x\n\nlisen: 127.0.0.1:1\n");
    let said = refusal(airside().arg("web").env("AIRSIDE_CONFIG", &file));
    let expected = format!(
        "airside: {}:3:1: there is no setting `lisen`; did you mean `listen`?\n",
        file.display()
    );
    assert_eq!(said, expected);
}

#[test]
fn web_asks_for_a_key_and_for_somebody_who_can_log_in() {
    let home = Home::new();
    let web = || {
        let mut command = airside();
        command.current_dir(home.path()).arg("web");
        command
    };
    let said = refusal(&mut web());
    assert!(
        said.contains("openssl rand -hex 32") && said.contains("--encryption-key-file"),
        "{said}"
    );
    let said = refusal(web().args(["--encryption-key-file", "key"]));
    assert!(
        said.contains("--user-file") && said.contains("--user "),
        "{said}"
    );
    assert!(
        !home.path().join("airside-data").exists(),
        "nothing was begun"
    );
}

#[test]
fn wrong_values_are_refused_in_words() {
    let home = Home::new();
    home.file("bad-users", "admin:secret\nnobody\n");
    home.file("no-users", "# nobody\n");
    home.file("bad-headers", "what\n");
    home.file("bad-url", "mysql://x\n");
    for (args, expected) in [
        (
            vec!["--user-file", "bad-users"],
            "bad-users:2: a local user is written",
        ),
        (
            vec!["--user-file", "no-users"],
            "there is no user in no-users",
        ),
        (vec!["--user-file", "gone"], "cannot read the users in gone"),
        (
            vec!["--encryption-key-file", "gone"],
            "cannot read the key in gone",
        ),
        (
            vec!["--encryption-key-file", "users"],
            "cannot use the key in users",
        ),
        (
            vec!["--database-url-file", "bad-url"],
            "in bad-url (--database-url-file)",
        ),
        (
            vec![
                "--database-url-file",
                "bad-url",
                "--database-url",
                "sqlite:x",
            ],
            "both --database-url and --database-url-file",
        ),
        (
            vec!["--external-url", "ci.example.com"],
            "must begin with http:// or https://",
        ),
        (
            vec!["--log-level", "info,=,"],
            "cannot understand --log-level",
        ),
        (
            vec!["--otlp-endpoint", "collector"],
            "not an address of a collector",
        ),
        (
            vec![
                "--otlp-endpoint",
                "http://c",
                "--otlp-headers-file",
                "bad-headers",
            ],
            "bad-headers:1: a header is written `Name: value`",
        ),
        (
            vec!["--local-worker", "--shim", "gone"],
            "there is no shim at gone",
        ),
        (vec!["--targets", "gone"], "gone"),
    ] {
        let mut command = airside();
        command
            .current_dir(home.path())
            .args(["web", "--listen", "127.0.0.1:0"]);
        for required in ["--encryption-key-file=key", "--user-file=users"] {
            let (option, _) = required.split_once('=').unwrap();
            if !args.contains(&option) {
                command.arg(required);
            }
        }
        let said = refusal(command.args(&args));
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn help_is_short_or_long_and_in_groups() {
    let help = |flag: &str| text(&airside().args(["web", flag]).output().unwrap().stdout);
    let (short, long) = (help("-h"), help("--help"));
    for group in [
        "Listening:",
        "Database:",
        "Encryption keys:",
        "Local users:",
        "Workers:",
        "Logs and traces:",
        "Configuration:",
    ] {
        assert!(
            short.contains(group) && long.contains(group),
            "{group}\n{long}"
        );
    }
    assert!(long.contains("Examples:") && !short.contains("Examples:"));
    assert!(long.len() > short.len());
    assert!(short.contains("AIRSIDE_DATABASE_URL"));
}

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let output = airside().args(["completion", shell]).output().unwrap();
        let script = text(&output.stdout);
        assert!(
            output.status.success() && script.contains("print-config"),
            "{shell}"
        );
        assert!(script.contains("validate"), "{shell}");
    }
}

#[test]
fn parts_that_the_server_starts_read_no_settings() {
    let mut rt = airside();
    rt.args(["rt", "nothing"]);
    let output = rt.env("AIRSIDE_LISTEN", "no address").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.starts_with("usage: rt create <folder>"), "{said}");
}
