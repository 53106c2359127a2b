//! Results of `airside run` for programs: `--json`, `--junit`, and the table's rows.

use std::fs;

use airside_scenarios::{Run, plans::task};
use serde_json::{Value, json};

fn run(resources: Value, jobs: Value) -> Run {
    Run::new(&json!({"resources": resources, "jobs": jobs}).to_string())
}

fn mock(source: Value) -> Value {
    json!([{"name": "src", "type": "mock", "source": source}])
}

/// A job whose task fails, after printing a secret and characters that XML does not know.
fn failing() -> Run {
    let mut bad = task(
        "bad",
        "printf 'it is %s & \\033[31m<b>\\033[0m\\001\\n' \"$WORD\"; exit 3",
    );
    bad["params"] = json!({"WORD": "((word))"});
    let get = json!({"get": "src"});
    let jobs = json!([
        {"name": "first", "plan": [get, bad]},
        {"name": "second", "plan": [{"get": "src", "passed": ["first"]}]},
    ]);
    run(mock(json!({"initial_version": "v1"})), jobs)
}

#[test]
fn every_line_of_standard_output_is_json() {
    let output = failing()
        .run(&["--json", "--secret", "word=hunter2-secret"])
        .ended_with(1);
    let lines = output.stdout.lines();
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!output.stdout.contains("hunter2"), "{}", output.stdout);
    let find = |event: &str, step: &str| {
        let mut events = events.iter();
        let found = events.find(|it| it["event"] == event && it["step"] == step);
        found
            .unwrap_or_else(|| panic!("no {event} of {step} in {}", output.stdout))
            .clone()
    };
    assert_eq!(find("step-started", "bad")["kind"], "task");
    assert_eq!(find("output", "bad")["line"], "it is ((redacted)) & <b>");
    let ended = find("step-ended", "bad");
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["reason"], "exit status 3");
    assert!(ended["seconds"].is_f64(), "{ended}");
    let end = events.last().unwrap();
    assert_eq!(end["event"], "run-ended");
    assert_eq!(
        (&end["status"], &end["exit_status"]),
        (&json!("failed"), &json!(1))
    );
    let jobs: Vec<_> = end["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["status"])
        .collect();
    assert_eq!(jobs, ["failed", "skipped"]);
    // People read the rest on standard error.
    assert!(output.stderr.contains("JOB "), "{}", output.stderr);
    assert!(
        output.stderr.contains("it is ((redacted))"),
        "{}",
        output.stderr
    );
}

#[test]
fn junit_has_a_case_for_each_step() {
    let run = failing();
    let args = ["--junit", "results.xml", "--secret", "word=hunter2-secret"];
    run.run(&args).ended_with(1);
    let xml = fs::read_to_string(run.path().join("results.xml")).unwrap();
    for part in [
        r#"<testsuite name="first" tests="2" failures="1" errors="0" skipped="0""#,
        r#"<testcase classname="first" name="get src" time="#,
        r#"<testcase classname="first" name="task bad" time="#,
        r#"<failure message="exit status 3">it is ((redacted)) &amp; &lt;b&gt;</failure>"#,
        r#"<skipped message="job first did not succeed">"#,
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }

    let output = run.run(&["--junit", "no/such/folder.xml"]).ended_with(2);
    assert!(
        output.stderr.contains("--junit: cannot write"),
        "{}",
        output.stderr
    );
}

#[test]
fn rows_tell_steps_apart_and_leave_out_what_only_fetches_images() {
    let put = json!({"put": "src", "params": {"version": "v2"}});
    let jobs = json!([{"name": "j", "plan": [put, task("t", "true")]}]);
    let output = run(mock(json!({"initial_version": "v1"})), jobs)
        .run(&[])
        .succeeded();
    let lines = output
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("JOB "));
    let steps: Vec<String> = lines
        .skip(1)
        .map(|line| line.split("succeeded").next().unwrap())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        steps,
        ["j put src", "j get src (after put)", "j task t", "j"]
    );
}

#[test]
fn the_row_of_a_failed_check_has_its_reason() {
    let jobs = json!([{"name": "j", "plan": [{"get": "src"}]}]);
    let source = json!({"check_failure": "the moon is in the way"});
    let output = run(mock(source), jobs).run(&[]).ended_with(2);
    let row = output.stdout.lines().last().unwrap();
    assert!(row.contains("the check of resource `src`"), "{row}");
    assert!(row.contains("the moon is in the way"), "{row}");
}
