//! `airside run --input`: a checkout becomes what a get would have left.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
    process::Command,
};

use airside_scenarios::{Output, Run, plans::task};
use serde_json::{Value, json};

/// The owner of the checkout: neither root nor the user of the step.
const PERSON: u32 = 1000;

fn git(path: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", "/nonexistent").current_dir(path);
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn give_away(path: &Path) {
    chown(path, Some(PERSON), Some(PERSON)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

/// A run of a job that gets `repo`, a git repository, and looks at it.
fn run_that_looks(script: &str) -> Run {
    let source = json!({"uri": "https://github.com/team/app.git", "branch": "main"});
    let mut step = task("look", script);
    step["config"]["inputs"] = json!([{"name": "repo"}]);
    let jobs: Value = json!([{"name": "j", "plan": [{"get": "repo"}, step]}]);
    let resources = json!([{"name": "repo", "type": "git", "source": source}]);
    let run = Run::new(&json!({"resources": resources, "jobs": jobs}).to_string());
    let everyone = fs::Permissions::from_mode(0o755);
    fs::set_permissions(run.path(), everyone).unwrap();
    run.file("code/.gitignore", "target/\n");
    run.file("code/text", "first\n");
    let code = run.path().join("code");
    git(&code, &["init", "-q", "-b", "main"]);
    git(&code, &["add", "."]);
    git(&code, &["commit", "-q", "-m", "the message"]);
    run.file("code/text", "changed since\n");
    run.file("code/target/large", "made by a compiler\n");
    give_away(&code);
    run
}

#[track_caller]
fn assert_printed(output: &Output, line: &str) {
    let printed = format!("j/look | {line}\n");
    assert!(
        output.stdout.contains(&printed),
        "no {line:?} in:\n{}",
        output.stdout
    );
}

#[test]
fn a_checkout_becomes_what_a_get_of_git_leaves() {
    let run = run_that_looks(
        "cd repo; echo \"status: $(git status --short)\"; echo \"text: $(cat text)\"
         echo \"ref: $([ $(cat .git/ref) = $(git rev-parse HEAD) ] && echo right)\"
         for file in short_ref commit_message committer branch commit_timestamp describe_ref \
                     metadata.json url; do
           [ -s .git/$file ] && echo has $file
         done
         echo \"message: $(cat .git/commit_message)\"; echo \"owner: $(stat -c %u . text .git/ref | uniq)\"
         ls target 2>&1; true",
    );
    let output = run.run(&["--input", "repo=code"]).succeeded();
    for line in [
        "status:  M text",
        "text: changed since",
        "ref: right",
        "has short_ref",
        "has commit_message",
        "has committer",
        "has branch",
        "has commit_timestamp",
        "has describe_ref",
        "has metadata.json",
        "has url",
        "message: the message",
        "owner: 0",
    ] {
        assert_printed(&output, line);
    }
    assert!(
        output.stdout.contains("cannot access 'target'"),
        "{}",
        output.stdout
    );
    assert!(!output.stderr.contains("airside:"), "{}", output.stderr);
}

#[test]
fn ignored_files_come_along_if_they_are_wanted() {
    let run = run_that_looks("cat repo/target/large");
    let output = run
        .run(&["--input", "repo=code", "--input-ignored"])
        .succeeded();
    assert_printed(&output, "made by a compiler");
}

#[test]
fn a_folder_that_is_no_checkout_is_copied_as_it_is() {
    let run = run_that_looks("cat repo/target/large");
    fs::rename(run.path().join("code/.git"), run.path().join("gone")).unwrap();
    let output = run.run(&["--input", "repo=code"]).succeeded();
    assert_printed(&output, "made by a compiler");
    let said = "airside: --input repo: the copy has no .git/ref";
    assert!(output.stderr.contains(said), "{}", output.stderr);
}

/// The checkout names programs for git to run: root runs none of them.
#[test]
fn hostile_checkouts_run_nothing_on_the_machine() {
    let run = run_that_looks("echo fine");
    let ran = run.path().join("ran");
    let script = run.path().join("code/evil.sh");
    fs::write(&script, format!("#!/bin/sh\nid -u >> {}\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for name in [
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
        "filter.evil.clean",
    ] {
        git(
            &run.path().join("code"),
            &[
                "-c",
                "safe.directory=*",
                "config",
                name,
                script.to_str().unwrap(),
            ],
        );
    }
    run.file("code/.gitattributes", "* filter=evil\n");
    give_away(&run.path().join("code"));
    fs::write(&ran, "").unwrap();
    fs::set_permissions(&ran, fs::Permissions::from_mode(0o666)).unwrap();
    let output = run.run(&["--input", "repo=code"]).succeeded();
    assert_printed(&output, "fine");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "");
}
