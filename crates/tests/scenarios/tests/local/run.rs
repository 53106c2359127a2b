//! `airside run`: pipelines without a server.

use std::{fs, io::Read};

use airside_scenarios::{
    Counter, Output, Run,
    plans::{task, with},
};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

/// `src` has the versions of `versions`, of which the last is the newest.
fn mock(name: &str, more: Value) -> Value {
    json!({"name": name, "type": "mock", "source": more})
}

fn with_inputs(mut step: Value, inputs: &[&str]) -> Value {
    let inputs: Vec<Value> = inputs.iter().map(|name| json!({"name": name})).collect();
    step["config"]["inputs"] = json!(inputs);
    step
}

fn job(name: &str, plan: Value) -> Value {
    json!({"name": name, "plan": plan})
}

fn pipeline(resources: Value, jobs: Value) -> String {
    json!({"resources": resources, "jobs": jobs}).to_string()
}

#[track_caller]
fn assert_says(output: &Output, words: &str) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains(words), "no {words:?} in:\n{all}");
}

/// A line of a step, however its label is lined up with others.
#[track_caller]
fn assert_line(output: &Output, label: &str, text: &str) {
    let mut lines = output
        .stdout
        .lines()
        .filter_map(|line| line.split_once(" | "));
    let found = lines.any(|line| line.0.trim_end() == label && line.1 == text);
    assert!(found, "no {text:?} of {label} in:\n{}", output.stdout);
}

/// The lines of the table, without the times.
fn table(output: &Output) -> Vec<String> {
    let lines = output.stdout.lines();
    let table = lines.skip_while(|line| !line.starts_with("JOB ")).skip(1);
    table
        .map(|line| {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            if words
                .last()
                .is_some_and(|word| word.ends_with('s') && word.contains('.'))
            {
                words.pop();
            }
            words.join(" ")
        })
        .collect()
}

#[test]
fn jobs_run_after_those_they_wait_for_with_the_same_versions() {
    let show = |job: &str| {
        with_inputs(
            task("show", &format!("echo {job} has $(cat src/version)")),
            &["src"],
        )
    };
    let jobs = json!([
        job(
            "last",
            json!([{"get": "src", "passed": ["mid"]}, show("last")])
        ),
        job(
            "first",
            json!([{"get": "src", "trigger": true}, show("first")])
        ),
        job(
            "mid",
            json!([{"get": "src", "passed": ["first"]}, show("mid")])
        ),
    ]);
    let run = Run::new(&pipeline(
        json!([mock("src", json!({"initial_version": "v7"}))]),
        jobs,
    ));
    let output = run.run(&[]).succeeded();
    for job in ["first", "mid", "last"] {
        assert_line(&output, &format!("{job}/show"), &format!("{job} has v7"));
    }
    let rows = table(&output);
    let jobs: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.strip_suffix(" succeeded"))
        .collect();
    let ended: Vec<&str> = jobs.into_iter().filter(|row| !row.contains(' ')).collect();
    assert_eq!(ended, ["first", "mid", "last"], "{rows:?}");
    assert!(
        rows.contains(&"mid task show succeeded".to_owned()),
        "{rows:?}"
    );
}

#[test]
fn what_a_job_puts_is_what_later_jobs_get() {
    let make = json!({"put": "src", "params": {"version": "made here"}});
    let jobs = json!([
        job("make", json!([make])),
        job(
            "use",
            json!([
                {"get": "src", "passed": ["make"]},
                with_inputs(task("show", "cat src/version; echo"), &["src"]),
            ])
        ),
    ]);
    let source = json!({"initial_version": "v1"});
    let run = Run::new(&pipeline(json!([mock("src", source)]), jobs));
    let output = run.run(&["-j", "use"]).succeeded();
    assert_line(&output, "use/show", "made here");
}

#[test]
fn a_failure_is_the_exit_status_and_what_follows_is_skipped() {
    let resources = json!([mock("src", json!({"initial_version": "v1"}))]);
    let after = |name: &str, before: &str| {
        job(
            name,
            json!([{"get": "src", "passed": [before]}, task("never", "echo never said")]),
        )
    };
    let failing = |step: Value| {
        let first = job("first", json!([{"get": "src"}, step]));
        pipeline(
            resources.clone(),
            json!([first, after("second", "first"), after("third", "second")]),
        )
    };
    let run = Run::new(&failing(task("bad", "echo about to fail; exit 3")));
    let output = run.run(&[]).ended_with(1);
    assert_line(&output, "first/bad", "about to fail");
    assert_says(&output, "exit status 3");
    assert!(!output.stdout.contains("never said"), "{output:?}");
    let rows = table(&output);
    assert!(
        rows.contains(&"second skipped: job first did not succeed".to_owned()),
        "{rows:?}"
    );
    assert!(
        rows.contains(&"third skipped: job second did not succeed".to_owned()),
        "{rows:?}"
    );

    let mut wrong = task("bad", "");
    wrong["config"]["run"]["path"] = json!("/no/such/program");
    let output = Run::new(&failing(wrong)).run(&[]).ended_with(2);
    assert_says(&output, "/no/such/program");
}

#[test]
fn a_folder_can_stand_for_a_resource() {
    let file = json!({"task": "from-file", "file": "code/ci/task.yml"});
    let jobs = json!([
        job("one", json!([{"get": "code", "resource": "repo"}, file])),
        job(
            "two",
            json!([
                {"get": "repo", "passed": ["one"]},
                with_inputs(task("look", "cat repo/text; touch repo/mine"), &["repo"]),
            ])
        ),
    ]);
    let git = json!([{"name": "repo", "type": "no-such-type", "source": {}}]);
    let run = Run::new(&pipeline(git, jobs));
    run.file("code/text", "my checkout\n");
    run.file(
        "code/ci/task.yml",
        "platform: linux\nimage_resource: {type: host}\nrun: {path: echo, args: [as, the, file, says]}\n",
    );
    let output = run.run(&["--input", "repo=code"]).succeeded();
    assert_line(&output, "one/from-file", "as the file says");
    assert_line(&output, "two/look", "my checkout");
    assert!(
        !run.path().join("code/mine").exists(),
        "a copy was promised"
    );

    let output = run.run(&[]).ended_with(2);
    assert_says(
        &output,
        "job `one` gets `repo`: resource type `no-such-type`",
    );
    assert_says(&output, "--input repo=DIR");
}

#[test]
fn variables_are_filled_in() {
    let run = Run::new(&pipeline(
        json!([]),
        json!([job("job", json!([task("t", "echo ((what)) ((who))")]))]),
    ));
    run.file("vars.yml", "who: world\nwhat: bye\n");
    let output = run.run(&["-l", "vars.yml", "-v", "what=hello"]).succeeded();
    assert_says(&output, "hello world\n");
}

#[test]
fn wrong_input_is_told_before_anything_runs() {
    let good = pipeline(
        json!([]),
        json!([job("job", json!([task("t", "echo ran")]))]),
    );
    for (text, args, words) in [
        ("jobs: [", vec![], "pipeline.yml:1"),
        (
            "jobs:\n- {name: a, plan: [{get: gone}]}\n",
            vec![],
            "unknown resource 'gone'",
        ),
        (
            good.as_str(),
            vec!["-j", "jo"],
            "there is no job `jo`; did you mean `job`?",
        ),
        (good.as_str(), vec!["--only"], "--job"),
        (good.as_str(), vec!["-i", "nonsense"], "RESOURCE=DIR"),
        (good.as_str(), vec!["-i", "gone=."], "no resource `gone`"),
        (good.as_str(), vec!["-v", "nonsense"], "NAME=VALUE"),
        (
            good.as_str(),
            vec!["-l", "gone.yml"],
            "cannot read gone.yml",
        ),
        (good.as_str(), vec!["--parallel", "0"], "0"),
        (
            good.as_str(),
            vec!["--shim", "/gone"],
            "there is no shim at /gone",
        ),
        (good.as_str(), vec!["--log-level", "=x="], "--log-level"),
        (good.as_str(), vec!["another.yml"], "another.yml"),
    ] {
        let output = Run::new(text).run(&args).ended_with(2);
        assert_says(&output, words);
        assert!(!output.stdout.contains("ran"), "{output:?}");
    }
}

#[test]
fn a_version_that_is_not_there_is_told() {
    let jobs = json!([job("job", json!([{"get": "src"}]))]);
    let run = Run::new(&pipeline(
        json!([mock("src", json!({"no_initial_version": true}))]),
        jobs,
    ));
    let output = run.run(&[]).ended_with(2);
    assert_says(&output, "input `src`: resource `src` has no versions");
}

#[test]
fn ctrl_c_aborts_and_hooks_run() {
    let counter = Counter::start();
    counter.hold("work");
    let hook = task("hook", &format!("echo hook ran; {}", counter.bump("hook")));
    let work = with(
        task("work", &counter.bump("work")),
        json!({"on_abort": hook}),
    );
    let jobs = json!([
        job("job", json!([{"get": "src"}, work])),
        job("after", json!([{"get": "src", "passed": ["job"]}])),
    ]);
    let run = Run::new(&pipeline(
        json!([mock("src", json!({"initial_version": "v1"}))]),
        jobs,
    ));
    let running = run.spawn(&[]);
    counter.wait("work", 1);
    running.interrupt();
    let output = running.wait().ended_with(3);
    run.nothing_is_left();
    assert_eq!(counter.count("hook"), 1);
    assert_says(&output, "hook ran");
    let rows = table(&output);
    assert!(
        rows.contains(&"job task work aborted".to_owned()),
        "{rows:?}"
    );
    assert!(
        rows.contains(&"after skipped: the run was stopped".to_owned())
            || rows.contains(&"after skipped: job job did not succeed".to_owned()),
        "{rows:?}"
    );
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let counter = Counter::start();
    counter.hold("work");
    counter.hold("hook");
    let hook = task("hook", &counter.bump("hook"));
    let work = with(task("work", &counter.bump("work")), json!({"ensure": hook}));
    let run = Run::new(&pipeline(json!([]), json!([job("job", json!([work]))])));
    let running = run.spawn(&[]);
    counter.wait("work", 1);
    running.interrupt();
    counter.wait("hook", 1);
    running.interrupt();
    running.wait().ended_with(3);
    run.nothing_is_left();
}

/// The bottom rows of a terminal say what runs, and are gone at the end.
#[test]
fn a_terminal_shows_what_runs() {
    let counter = Counter::start();
    counter.hold("work");
    let plan = json!([task(
        "work",
        &format!("{}; echo done working", counter.bump("work"))
    )]);
    let run = Run::new(&pipeline(json!([]), json!([job("job", plan)])));
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = fs::File::options()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    let running = run.spawn_on(terminal.into(), &[]);
    let mut screen = fs::File::from(master);
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while !seen.contains("job/work   task ") {
        let read = screen.read(&mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    counter.release("work");
    // The terminal ends with its last writer.
    while let Ok(read) = screen.read(&mut piece) {
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    running.wait().succeeded();
    run.nothing_is_left();
    let end = seen.rsplit("\x1b[J").next().unwrap();
    assert!(end.contains("JOB "), "{seen:?}");
    assert!(!end.contains("\x1b[2m"), "{seen:?}");
}

/// Notes of ours have colours where `fly` shows them: that of a cached get, and the difference that
/// a `set_pipeline` makes.
#[test]
fn files_get_no_escape_sequences() {
    let made = json!({"jobs": [job("j", json!([task("t", "true")]))]}).to_string();
    let write = format!("printf '%s' '{made}' > made/p.yml; printf '\\033[31mred\\033[0m\\n'");
    let mut write = task("write", &write);
    write["config"]["outputs"] = json!([{"name": "made"}]);
    let plan = json!([
        {"get": "src"},
        {"get": "again", "resource": "src"},
        write,
        {"set_pipeline": "other", "file": "made/p.yml"}
    ]);
    let resources = json!([mock("src", json!({"initial_version": "v1"}))]);
    let run = Run::new(&pipeline(resources, json!([job("job", plan)])));
    let output = run.run(&[]).succeeded();
    assert!(!output.stdout.contains('\x1b'), "{:?}", output.stdout);
    assert!(!output.stderr.contains('\x1b'), "{:?}", output.stderr);
    assert_line(&output, "job/write", "red");
    assert_says(&output, "job j has been added");
}

#[test]
fn a_task_for_another_platform_errs() {
    let mut step = task("mac", "echo it ran");
    step["config"]["platform"] = json!("darwin");
    let run = Run::new(&pipeline(json!([]), json!([job("mac", json!([step]))])));
    let output = run.run(&[]).ended_with(2);
    assert_says(&output, "no workers satisfying: platform 'darwin'");
    assert!(!output.stdout.contains("it ran"), "{}", output.stdout);
}

#[test]
fn another_user_has_its_own_home() {
    let mut step = task("who", "echo home=$HOME user=$USER");
    step["config"]["run"]["user"] = json!("nobody");
    let run = Run::new(&pipeline(json!([]), json!([job("who", json!([step]))])));
    let output = run.run(&[]).ended_with(0);
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let account = passwd.lines().find(|line| line.starts_with("nobody:"));
    let home = account.unwrap().split(':').nth(5).unwrap();
    assert_line(&output, "who/who", &format!("home={home} user=nobody"));
}

/// A machine without `nft`: the run must not be silent about what that means.
#[test]
fn steps_that_share_the_machines_network_are_told_of() {
    let plan = json!([task("t", "echo hello")]);
    let run = Run::new(&pipeline(json!([]), json!([job("j", plan)])));
    let output = run.own_network().without_programs().run(&[]).ended_with(0);
    assert_says(&output, "local steps share the machine's network");
}

#[test]
fn secrets_do_not_show_and_what_has_no_value_is_named_before_anything_begins() {
    let mut step = task("t", "echo \"it is $WORD, $PLAIN\"");
    step["params"] = json!({"WORD": "((word))", "PLAIN": "((plain.field))"});
    let run = Run::new(&pipeline(json!([]), json!([job("j", json!([step]))])));
    let output = run.run(&[]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_says(
        &output,
        "airside: no value is known for ((plain.field)), ((word)): give it with -v",
    );
    let secrets = run.path().join("secrets.yml");
    run.file("secrets.yml", "word: hunter2-secret\n");
    let secrets = secrets.to_str().unwrap();
    let output = run.run(&["--secrets-file", secrets, "-y", "plain={field: seen}"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_line(&output, "j/t", "it is ((redacted)), seen");
    assert!(!output.stdout.contains("hunter2"), "{output:?}");
}
