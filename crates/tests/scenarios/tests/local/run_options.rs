//! Options of `airside run`: variables of the environment, secrets, puts that are left out, and
//! privileged steps.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
};

use airside_scenarios::{Output, Run, plans::task};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

fn pipeline(steps: Value) -> String {
    json!({"jobs": [{"name": "job", "plan": steps}]}).to_string()
}

#[track_caller]
fn assert_says(output: &Output, words: &str) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains(words), "no {words:?} in:\n{all}");
}

#[test]
fn options_are_variables_too() {
    let step = task(
        "t",
        "echo ((one)) ((two)); ip -brief link | wc -l; exit ((code))",
    );
    let jobs = json!({"jobs": [
        {"name": "a", "plan": [step]},
        {"name": "b", "plan": [task("t", "echo not this one")]},
    ]});
    let run = Run::new(&jobs.to_string())
        .env("AIRSIDE_JOB", "a")
        .env("AIRSIDE_ONLY", "true")
        .env("AIRSIDE_VAR", "one=first, and more\ntwo=second\ncode=1");
    let output = run.run(&[]).ended_with(1);
    assert_says(&output, "first, and more second");
    assert!(!output.stdout.contains("not this one"), "{output:?}");
    // Options win.
    let output = run.run(&["-v", "one=a", "-v", "two=b", "-v", "code=0"]);
    assert_says(&output.succeeded(), "| a b");
    let run = Run::new(&pipeline(json!([])));
    let run = run.own_network().env("AIRSIDE_LOCAL_NETWORK", "nonsense");
    assert_says(&run.run(&[]).ended_with(2), "must be `own` or `machine`");
}

#[test]
fn a_secret_can_come_from_the_environment_or_a_file() {
    let mut step = task("t", "echo \"they are $ONE, $TWO.\"; echo $TWO | wc -c");
    step["params"] = json!({"ONE": "((TOKEN))", "TWO": "((password))"});
    let run = Run::new(&pipeline(json!([step]))).env("TOKEN", "first-hunter2");
    run.file("password", "second-hunter2\n");
    let args = ["--secret", "TOKEN", "--secret-file", "password=password"];
    let output = run.run(&args).succeeded();
    assert_says(&output, "they are ((redacted)), ((redacted)).");
    assert_says(&output, "| 15");
    assert!(!output.stdout.contains("hunter2"), "{output:?}");
    let output = run.run(&["--secret", "GONE"]).ended_with(2);
    assert_says(&output, "it names an environment variable");
    let output = run.run(&["--secret-file", "password=gone"]).ended_with(2);
    assert_says(&output, "cannot read --secret-file password=gone");
}

#[test]
fn puts_are_left_out_with_what_needs_them() {
    let mut uses = task("uses", "echo it used it");
    uses["config"]["inputs"] = json!([{"name": "made"}]);
    let source = json!({"initial_version": "v1"});
    let made = json!({"name": "made", "type": "mock", "source": source});
    let gone = json!({"name": "gone", "type": "no-such-type", "source": {"key": "((key))"}});
    let put = json!({"put": "made", "params": {"version": "((word))"},
        "on_success": task("hook", "echo the hook ran")});
    let jobs = json!([
        {"name": "make", "plan": [put, uses, task("rest", "echo the rest ran"), {"put": "gone"}]},
        {"name": "next", "plan": [{"get": "made", "passed": ["make"]}]},
        {"name": "last", "plan": [{"get": "made", "passed": ["next"]}]},
    ]);
    let run = Run::new(&json!({"resources": [made, gone], "jobs": jobs}).to_string());
    let output = run.run(&["--no-put"]).succeeded();
    let would = "put skipped (--no-put): would put `made` (mock) with {\"version\":\"((word))\"}";
    assert_says(&output, would);
    assert_says(
        &output,
        "get skipped (--no-put): would get what that put makes",
    );
    assert_says(
        &output,
        "task skipped (--no-put): needs `made`, which is not there",
    );
    assert_says(&output, "the hook ran");
    assert_says(&output, "the rest ran");
    assert!(!output.stdout.contains("it used it"), "{output:?}");
    assert_says(
        &output,
        "skipped: its input `made` is what job `make` puts (--no-put)",
    );
    assert_says(&output, "skipped: job next did not succeed");
    let table = output.stdout.split("JOB ").last().unwrap();
    let rows: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert!(
        rows.iter()
            .any(|row| row.starts_with("make put made skipped")),
        "{rows:?}"
    );
    // All of it is needed otherwise.
    let output = run.run(&[]).ended_with(2);
    assert_says(&output, "no value is known for ((key)), ((word))");
    assert_says(
        &output,
        "job `make` puts `gone`: resource type `no-such-type`",
    );
}

fn privileged() -> Run {
    let mut step = task("strong", "echo it ran");
    step["privileged"] = json!(true);
    Run::new(&pipeline(json!([task("weak", "echo it began"), step])))
}

#[test]
fn hostile_files_get_no_privileged_steps_without_the_users_word() {
    let run = privileged();
    let output = run.run(&[]).ended_with(2);
    let words = "this file asks for root of this machine: task `strong` of job `job`; read what it \
                 does, then run it with --allow-privileged";
    assert_says(&output, words);
    assert!(!output.stdout.contains("it began"), "{output:?}");
    let output = run.run(&["--allow-privileged"]).succeeded();
    assert_says(&output, "it ran");
}

/// A terminal: the side that a person has, and the program's.
fn terminal() -> (fs::File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = fs::File::options().read(true).write(true).open(name);
    (master.into(), slave.unwrap().into())
}

#[test]
fn hostile_files_ask_for_privileged_steps_once_on_a_terminal() {
    for (answer, code, has_run) in [("y\n", 0, true), ("\n", 2, false)] {
        let run = privileged();
        let (mut screen, side) = terminal();
        let running = run.spawn_asking(&side, &[]);
        drop(side);
        let (mut seen, mut piece) = (String::new(), [0; 4096]);
        while !seen.contains("run it? [y/N] ") {
            let read = screen.read(&mut piece).unwrap();
            seen.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        assert!(!seen.contains("it began"), "{seen:?}");
        screen.write_all(answer.as_bytes()).unwrap();
        // The terminal ends with its last writer.
        while let Ok(read) = screen.read(&mut piece) {
            seen.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        assert_eq!(running.wait().code, Some(code), "{seen}");
        assert_eq!(seen.contains("it ran"), has_run, "{seen}");
        assert_eq!(seen.matches("[y/N]").count(), 1);
        run.nothing_is_left();
    }
}
