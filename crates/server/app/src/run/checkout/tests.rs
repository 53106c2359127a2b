use std::fs;

use super::*;

fn git(path: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HOME", "/nonexistent").current_dir(path);
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    file(".gitignore", "target\n*.log\n");
    file("kept.log", "in the repository although its name is ignored");
    git(folder.path(), &["add", "-f", "."]);
    git(folder.path(), &["commit", "-q", "-m", "first"]);
    fs::create_dir_all(folder.path().join("target/deep")).unwrap();
    for name in ["target/deep/file", "new.log", "new.txt"] {
        file(name, "");
    }
    folder
}

#[test]
fn ignored_files_are_named_and_files_of_the_repository_are_not() {
    let folder = checkout();
    let checkout = Checkout::find(folder.path()).unwrap();
    let mut ignored = checkout.ignored().unwrap();
    ignored.sort();
    assert_eq!(ignored, ["new.log", "target"].map(PathBuf::from));
    let asked = ["gone.log", "gone.txt", "kept.log", "target/x"].map(PathBuf::from);
    let ignored = checkout.ignored_of(&asked).unwrap();
    assert_eq!(ignored, ["gone.log", "target/x"].map(PathBuf::from));
}

#[test]
fn a_folder_without_a_repository_of_its_own_is_no_checkout() {
    let folder = checkout();
    assert!(Checkout::find(&folder.path().join("target")).is_none());
    let elsewhere = folder.path().join("target/deep");
    fs::write(elsewhere.join(".git"), "gitdir: ../../.git").unwrap();
    assert!(Checkout::find(&elsewhere).is_none());
    fs::create_dir(folder.path().join("target/.git")).unwrap();
    let broken = Checkout::find(&folder.path().join("target")).unwrap();
    assert!(matches!(broken.ignored(), Err(AskError::Refused)));
}

/// Programs that a repository can name: none of them runs, whatever is asked.
#[test]
fn hostile_repositories_run_nothing() {
    let folder = checkout();
    let script = folder.path().join("evil.sh");
    let ran = folder.path().join("ran");
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}\ncat\n", ran.display()),
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).unwrap();
    let evil = script.to_str().unwrap();
    fs::create_dir_all(folder.path().join("hooks")).unwrap();
    fs::copy(&script, folder.path().join("hooks/post-index-change")).unwrap();
    for (name, value) in [
        ("core.fsmonitor", evil),
        ("core.hooksPath", "hooks"),
        ("core.pager", evil),
        ("filter.evil.clean", evil),
        ("diff.external", evil),
        ("log.showSignature", "true"),
        ("gpg.program", evil),
        ("protocol.ext.allow", "always"),
        ("alias.log", "!touch ran"),
    ] {
        git(folder.path(), &["config", name, value]);
    }
    fs::write(
        folder.path().join(".gitattributes"),
        "* filter=evil diff=evil\n",
    )
    .unwrap();
    fs::write(folder.path().join("kept.log"), "changed since").unwrap();
    let checkout = Checkout::find(folder.path()).unwrap();
    checkout.ignored().unwrap();
    checkout.ignored_of(&["a".into()]).unwrap();
    let mut ask = |args: &[&str]| Ok(checkout.ask(args).unwrap());
    let files = airside_resource_types::checkout_files("", &mut ask).unwrap();
    assert!(
        files
            .iter()
            .any(|(name, text)| *name == "branch" && text == "main\n")
    );
    assert!(!ran.exists(), "a program of the repository was run");
}
