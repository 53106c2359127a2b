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
            "in --dummy-creds-var: a variable is written NAME=VALUE, and there is no `=`",
        ),
        (
            &["--dummy-creds-var", "a={hunter2"],
            "in --dummy-creds-var: the value of a is not YAML",
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
    let one = ["--dummy-creds-var", "a=1", "--dummy-creds-var", "main/b=[x]"];
    assert!(read(&one).await.unwrap().is_some());
}
