use clap::Parser;
use serde_json::json;

use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: ConnectorOptions,
}

fn parse(arguments: &str) -> ConnectorOptions {
    let words = std::iter::once("airside").chain(arguments.split_whitespace());
    Command::try_parse_from(words).unwrap().options
}

#[test]
fn a_connector_is_there_once_it_is_whole() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "s3cret\n").unwrap();
    let file = secret.path().display();
    let all = format!(
        "--oidc-issuer https://id.example --oidc-client-id a --oidc-client-secret-file {file} \
         --oidc-display-name Acme --github-client-id b --github-client-secret-file {file} \
         --gitlab-client-id c --gitlab-client-secret-file {file} \
         --ldap-host ldap.example --ldap-bind-dn cn=reader --ldap-bind-pw-file {file} \
         --ldap-user-search-base-dn dc=example"
    );
    let connectors = parse(&all).connectors().unwrap();
    let redirecting = connectors.redirecting().iter();
    let titles: Vec<&str> = redirecting.map(|connector| connector.title()).collect();
    assert_eq!(titles, ["Acme", "GitHub", "GitLab"]);
    assert_eq!(connectors.directory_title(), Some("LDAP"));

    let none = parse("").connectors().unwrap();
    assert!(none.redirecting().is_empty() && none.directory_title().is_none());
}

#[test]
fn what_is_missing_or_wrong_is_named_and_no_secret_is_shown() {
    for (arguments, words) in [
        (
            "--oidc-issuer https://id.example",
            "--oidc-client-id is missing",
        ),
        (
            "--oidc-issuer https://id.example --oidc-client-id a",
            "--oidc-client-secret-file is missing",
        ),
        ("--oidc-client-id a", "--oidc-issuer is not"),
        (
            "--oidc-issuer http://id.example --oidc-client-id a --oidc-client-secret hunter2",
            "must be https",
        ),
        (
            "--github-client-id a --github-client-secret hunter2 --github-client-secret-file x",
            "both given",
        ),
        (
            "--gitlab-client-id a --gitlab-client-secret-file /nowhere",
            "cannot read --gitlab-client-secret-file /nowhere",
        ),
        ("--ldap-host a", "--ldap-user-search-base-dn is missing"),
        (
            "--ldap-host a --ldap-user-search-base-dn b --ldap-bind-dn c",
            "--ldap-bind-pw-file is missing",
        ),
        (
            "--ldap-host a --ldap-user-search-base-dn b --ldap-start-tls --ldap-insecure-no-ssl",
            "exclude each other",
        ),
        (
            "--ldap-host a --ldap-user-search-base-dn b --ldap-user-search-filter (",
            "not a search filter",
        ),
    ] {
        let error = parse(arguments).connectors().err().unwrap();
        let text = format!("{error:#}");
        assert!(text.contains(words), "{arguments}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn main_is_owned_by_whom_the_options_name_or_by_the_first_user() {
    let users: [LocalUser; 2] = ["Ann:pw".parse().unwrap(), "bob:pw".parse().unwrap()];
    assert_eq!(
        parse("").main_team(&users),
        json!({"owner": {"users": ["local:ann"], "groups": []}})
    );
    let given = parse(
        "--main-team-local-user bob --main-team-oidc-user Eve,Eva --main-team-oidc-group ops \
         --main-team-github-user g --main-team-github-org Acme --main-team-github-team acme:dev \
         --main-team-gitlab-user l --main-team-gitlab-group acme/ops --main-team-ldap-user p \
         --main-team-ldap-group admins",
    );
    assert!(given.has_main_team());
    let owners = json!({"owner": {
        "users": ["local:bob", "oidc:eve", "oidc:eva", "github:g", "gitlab:l", "ldap:p"],
        "groups": ["oidc:ops", "github:acme", "github:acme:dev", "gitlab:acme/ops", "ldap:admins"],
    }});
    assert_eq!(given.main_team(&users), owners);
}
