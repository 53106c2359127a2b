use clap::{Args as _, Command, FromArgMatches as _};

use super::*;

async fn read(args: &[&str]) -> Result<Option<Installation>> {
    let command = CredentialOptions::augment_args(Command::new("t").no_binary_name(true));
    let matches = command.try_get_matches_from(args)?;
    CredentialOptions::from_arg_matches(&matches)?
        .installation()
        .await
}

#[tokio::test]
async fn what_is_wrong_with_a_manager_is_told() {
    for (args, words) in [
        (
            &["--dummy-creds-var", "a"][..],
            "in --dummy-creds-var: expects NAME=VALUE, but there is no `=`",
        ),
        (
            &["--dummy-creds-var", "a={hunter2"],
            "in --dummy-creds-var: the value of a is not YAML",
        ),
        (
            &["--vault-url", "http://127.0.0.1:1"],
            "cannot use --vault-url: Vault needs a client token or an auth backend",
        ),
        (
            &["--vault-url", "here", "--vault-client-token", "hunter2"],
            "cannot use --vault-url: \"here\" is not an address of a server",
        ),
        (
            &[
                "--vault-url",
                "http://h",
                "--vault-auth-backend",
                "approle",
                "--vault-auth-param",
                "hunter2",
            ],
            "--vault-auth-param expects NAME:VALUE, but one has no `:`",
        ),
        (
            &["--kubernetes-in-cluster", "--kubernetes-config-path", "x"],
            "--kubernetes-in-cluster and --kubernetes-config-path are both given; choose one",
        ),
        (
            &["--kubernetes-config-path", "/no/such/file"],
            "cannot use Kubernetes' Secrets: the kubeconfig /no/such/file cannot be used",
        ),
        (
            &["--aws-ssm-region", "a/b"],
            "cannot use --aws-ssm-region: \"a/b\" is not a region of AWS",
        ),
        (
            &[
                "--aws-secretsmanager-region",
                "eu-west-1",
                "--aws-secretsmanager-secret-key",
                "hunter2",
            ],
            "cannot use --aws-secretsmanager-region: an access key and a secret key go together",
        ),
        (
            &[
                "--aws-ssm-region",
                "eu-west-1",
                "--dummy-creds-var",
                "a=hunter2",
            ],
            "--aws-ssm-region and --dummy-creds-var are both given, and an installation has one secret manager",
        ),
        (
            &["--dummy-creds-var-file", "/no/such/file"],
            "cannot read --dummy-creds-var-file /no/such/file",
        ),
    ] {
        let error = read(args).await.map(|_| ()).unwrap_err();
        let told = format!("{error:#}");
        assert!(told.starts_with(words), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[tokio::test]
async fn there_may_be_none_or_one() {
    assert!(read(&[]).await.unwrap().is_none());
    let one = [
        "--dummy-creds-var",
        "a=1",
        "--dummy-creds-var",
        "main/b=[x]",
    ];
    assert!(read(&one).await.unwrap().is_some());
    assert!(
        read(&["--aws-ssm-region", "eu-west-1"])
            .await
            .unwrap()
            .is_some()
    );
    let vault = [
        "--vault-url",
        "http://h",
        "--vault-auth-backend",
        "approle",
        "--vault-auth-param",
        "role_id:x",
    ];
    assert!(read(&vault).await.unwrap().is_some());
}
