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
    home.file("vars.yml", "name: a\n");
    for (args, good) in [
        (vec!["good.yml", "-v", "name=a"], true),
        (vec!["good.yml", "-l", "vars.yml", "--strict"], true),
        (vec!["good.yml", "-y", "name=[1]"], false),
        (vec!["twice.yml"], true),
        (vec!["twice.yml", "--strict"], false),
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
