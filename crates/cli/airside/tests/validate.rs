//! `airside validate` as people and editors call it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use support::{Home, airside, text};

#[test]
fn the_exit_status_says_whether_it_is_good() {
    let home = Home::new();
    home.file("good.yml", "jobs: [{name: ((name))}]\n");
    home.file("twice.yml", "jobs: [{name: a, name: b}]\n");
    home.file("bad.yml", "jobz: []\n");
    home.file("task.yml", "{platform: linux, run: {path: a, path: b}}\n");
    home.file(
        "number.yml",
        "jobs: [{name: a, plan: [{task: 5, file: a/b}]}]\n",
    );
    home.file(
        "pool.yml",
        "resources: [{name: p, type: pool}]\njobs: [{name: a, plan: [{get: p}]}]\n",
    );
    home.file("anchors.yml", "x-anchors: {a: 1}\njobs: [{name: a}]\n");
    home.file("vars.yml", "name: a\n");
    for (args, good) in [
        (vec!["good.yml", "-v", "name=a"], true),
        (vec!["good.yml", "-l", "vars.yml", "--strict"], true),
        (vec!["good.yml", "-y", "name=[1]"], false),
        (vec!["twice.yml"], false),
        (vec!["task.yml", "--task"], true),
        (vec!["task.yml", "--task", "--strict"], false),
        (vec!["number.yml"], false),
        (vec!["pool.yml"], true),
        (vec!["pool.yml", "--strict"], false),
        (vec!["anchors.yml", "--strict"], true),
        (vec!["bad.yml"], false),
        (vec!["good.yml", "bad.yml", "-v", "name=a"], false),
        (vec!["good.yml", "-l", "gone.yml"], false),
    ] {
        let mut command = airside();
        let output = command
            .current_dir(home.path())
            .arg("validate")
            .args(&args)
            .output()
            .unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.success(), good, "{args:?}: {said}");
    }
}

#[test]
fn fixing_writes_files_and_refuses_standard_input() {
    let home = Home::new();
    let new = "jobs: [{name: ((name))}] # kept\n";
    home.file("old.yml", "jobs: [{nmae: {{name}}}] # kept\n");
    let content = || std::fs::read_to_string(home.path().join("old.yml")).unwrap();
    let run = |args: &[&str]| {
        let mut command = airside();
        command.current_dir(home.path()).arg("validate").args(args);
        let output = command.output().unwrap();
        (
            output.status.success(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };
    let name = ["-v", "name=a"];
    let (is_good, said) = run(&[&["--fix", "--check", "old.yml"][..], &name].concat());
    assert!(
        !is_good && said.contains("old.yml: would fix 1 line"),
        "{said}"
    );
    assert!(content().contains("{{name}}"));
    let (is_good, said) = run(&[&["--fix", "old.yml"][..], &name].concat());
    assert!(is_good && said.contains("old.yml: fixed 1 line"), "{said}");
    assert_eq!(content(), new);
    let (is_good, said) = run(&[&["--fix", "--check", "old.yml"][..], &name].concat());
    assert!(is_good, "{said}");
    let (is_good, said) = run(&["--fix", "-"]);
    assert!(
        !is_good && said.contains("cannot write to standard input"),
        "{said}"
    );
    let (is_good, said) = run(&["--check", "old.yml"]);
    assert!(!is_good && said.contains("--fix"), "{said}");
}

#[test]
fn a_closed_pipe_is_the_readers_business() {
    for args in [&["schema"][..], &["completion", "bash"]] {
        let mut child = airside()
            .args(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{args:?}: {ended:?}");
        assert_eq!(text(&ended.stderr), "");
    }
}

#[test]
fn help_says_where_fly_is_stricter() {
    let help = airside().args(["validate", "--help"]).output().unwrap();
    assert!(text(&help.stdout).contains("fly validate-pipeline --strict"));
}
