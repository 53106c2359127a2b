//! Real checkers, asked the way a server asks them.

mod support;

use std::time::Duration;

use airside_check_process::{Check, Checkers, Failure, Freshness, Options};
use airside_model::Version;
use serde_json::{Value, json};

use support::{CheckerFolders, eventually};

fn check(source: Value) -> Check {
    let source = source.as_object().expect("a source is an object").clone();
    Check {
        team: "main".to_owned(),
        type_: "mock".to_owned(),
        source,
        from: None,
        timeout: Duration::from_secs(60),
        freshness: Freshness::FromNow,
    }
}

fn versions(version: &str) -> Vec<Version> {
    vec![Version::from([("version", version)])]
}

#[tokio::test]
async fn versions_and_output_come_back() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let asked = check(json!({"initial_version": "1", "log": "a word"}));
    let found = checkers.check(&asked).await.unwrap();
    assert_eq!(found.versions, versions("1"));
    assert!(found.output.contains("a word"), "{found:?}");
    let from = Check {
        from: Some(Version::from([("version", "7")])),
        ..asked
    };
    let found = checkers.check(&from).await.unwrap();
    assert_eq!(found.versions, versions("7"));
}

#[tokio::test]
async fn a_type_that_says_no_is_heard() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    for (asked, words) in [
        (check(json!({"check_failure": "not today"})), "not today"),
        (check(json!({"colour": "red"})), "colour"),
        (
            Check {
                type_: "nonsense".to_owned(),
                ..check(json!({}))
            },
            "nonsense",
        ),
    ] {
        let failure = checkers.check(&asked).await.unwrap_err();
        assert!(failure.is_the_types_own(), "{failure}");
        assert!(failure.output().contains(words), "{failure:?}");
    }
}

#[tokio::test]
async fn a_check_that_hangs_ends_with_its_time_and_so_does_its_process() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let hangs = Check {
        timeout: Duration::from_millis(300),
        ..check(json!({"check_delay": "1h", "log": "before"}))
    };
    let failure = checkers.check(&hangs).await.unwrap_err();
    assert!(matches!(failure, Failure::TimedOut { .. }), "{failure:?}");
    assert_eq!(failure.to_string(), "timeout exceeded");
    eventually(|| place.checker().is_none()).await;
    let found = checkers.check(&check(json!({}))).await.unwrap();
    assert_eq!(found.versions, versions("mock"));
    assert!(place.checker().is_some());
}

#[tokio::test]
async fn others_are_let_finish_in_a_process_where_one_hung() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let hangs = Check {
        timeout: Duration::from_millis(200),
        ..check(json!({"check_delay": "1h"}))
    };
    let slow = check(json!({"check_delay": "1s"}));
    let (hung, slow) = tokio::join!(checkers.check(&hangs), checkers.check(&slow));
    assert!(hung.is_err());
    assert_eq!(slow.unwrap().versions, versions("mock"));
}

#[tokio::test]
async fn a_killed_checker_is_started_again_and_its_checks_are_tried_again() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let asked = check(json!({"check_delay": "500ms"}));
    let killer = async {
        eventually(|| place.checker().is_some()).await;
        place.kill();
    };
    let (found, ()) = tokio::join!(checkers.check(&asked), killer);
    assert_eq!(found.unwrap().versions, versions("mock"));
}

#[tokio::test]
async fn a_checker_that_dies_again_and_again_fails_the_check_with_words() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let asked = check(json!({"check_delay": "1h"}));
    let killer = async {
        let mut killed: Vec<u32> = Vec::new();
        for _ in 0..2 {
            // The next one may be there before a look could find none.
            eventually(|| place.all().iter().any(|id| !killed.contains(id))).await;
            killed.extend(place.all());
            place.kill();
        }
    };
    let (found, ()) = tokio::join!(checkers.check(&asked), killer);
    let failure = found.unwrap_err();
    assert!(matches!(failure, Failure::Died { .. }), "{failure:?}");
    assert!(failure.to_string().contains("team `main`"), "{failure}");
}

#[tokio::test]
async fn many_checks_at_once_are_all_answered() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let asked: Vec<Check> = (0..3000)
        .map(|number| check(json!({"initial_version": number.to_string()})))
        .collect();
    let found = futures::future::join_all(asked.iter().map(|check| checkers.check(check))).await;
    for (number, found) in found.into_iter().enumerate() {
        assert_eq!(found.unwrap().versions, versions(&number.to_string()));
    }
}

#[tokio::test]
async fn output_has_an_end() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let asked = check(json!({"log": "x".repeat(3 << 20)}));
    let found = checkers.check(&asked).await.unwrap();
    assert_eq!(found.versions, versions("mock"));
    assert!(found.output.len() < (1 << 20) + 200);
    let end: String = found.output.chars().rev().take(100).collect();
    let end: String = end.chars().rev().collect();
    assert!(end.contains("were left out"), "{end}");
}

#[tokio::test]
async fn a_checker_without_work_ends() {
    let place = CheckerFolders::new();
    let checkers = Checkers::new(Options {
        idle: Duration::from_millis(50),
        ..place.options()
    });
    checkers.check(&check(json!({}))).await.unwrap();
    eventually(|| place.checker().is_none()).await;
    checkers.check(&check(json!({}))).await.unwrap();
}

#[tokio::test]
async fn teams_have_checkers_of_their_own() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    let mut other = check(json!({}));
    checkers.check(&other).await.unwrap();
    other.team = "other".to_owned();
    checkers.check(&other).await.unwrap();
    assert_eq!(place.all().len(), 2);
    drop(checkers);
}

#[tokio::test]
async fn a_program_that_is_no_checker_fails_checks_with_words() {
    let place = CheckerFolders::new();
    for (program, words) in [
        (
            &["/bin/sh", "-c", "printf garbage-and-more"][..],
            "cannot be understood",
        ),
        (&["/bin/false"], "exit status: 1"),
        (&["/does/not/exist"], "cannot be started"),
    ] {
        let checkers = Checkers::new(Options {
            program: program.iter().map(Into::into).collect(),
            ..place.options()
        });
        let failure = checkers.check(&check(json!({}))).await.unwrap_err();
        assert!(failure.to_string().contains(words), "{failure}");
    }
}

#[tokio::test]
async fn a_checker_can_do_nothing_but_check() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    checkers.check(&check(json!({}))).await.unwrap();
    let pid = place.checker().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let bounded = rustix::process::geteuid().is_root() || set != "CapBnd";
        let none = format!("{set}:\t0000000000000000\n");
        assert!(!bounded || status.contains(&none), "{set}: {status}");
    }
    assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
    assert!(status.contains("Seccomp:\t2\n"), "{status}");
    if rustix::process::geteuid().is_root() {
        assert!(
            status.contains("Uid:\t65534\t65534\t65534\t65534\n"),
            "{status}"
        );
        assert!(
            status.contains("Groups:\t \n") || status.contains("Groups:\t\n"),
            "{status}"
        );
    }
}

#[tokio::test]
async fn closing_leaves_nothing_behind() {
    let place = CheckerFolders::new();
    let checkers = place.checkers();
    checkers.check(&check(json!({}))).await.unwrap();
    checkers.close().await;
    assert!(place.checker().is_none() && place.is_empty());
}
