//! Teams and steps that use more than they may.

use airside_scenarios::{
    Counter, Fly, ServerOptions,
    pipelines::{job, task},
    wait_until,
};

/// The script does not name the letter, since fly shows the script.
fn flood(bytes: u32) -> String {
    format!("head -c {bytes} /dev/zero | tr '\\0' '\\176'; echo")
}

fn letters(text: &str) -> usize {
    text.matches('~').count()
}

#[test]
fn a_step_that_prints_without_end_is_cut_and_goes_on() {
    let options = ServerOptions::new().args(["--max-step-output", "64KiB"]);
    let server = options.start();
    let fly = server.fly();
    let plan = [
        task("flood", "", &flood(3_000_000)),
        task("next", "", "echo next; true"),
    ];
    fly.pipeline("p", &job(&plan));
    let said = fly.trigger_and_watch("p/job").succeeded().stdout;
    assert_eq!(said.matches("(--max-step-output)").count(), 1, "{said}");
    assert_eq!(letters(&said), 64 << 10);
    assert!(said.contains("next"), "{said}");
}

#[test]
fn output_that_was_dropped_is_not_missed_after_a_restart() {
    let options = ServerOptions::new().args(["--max-step-output", "64KiB"]);
    let mut server = options.start();
    let fly = server.fly();
    let counter = Counter::start();
    // More than a shim has room for: what is dropped is acknowledged.
    let script = format!(
        "{}; {}; {}",
        flood(300 << 20),
        counter.bump("half"),
        flood(99_999)
    );
    fly.pipeline("p", &job(&[task("flood", "", &script)]));
    counter.hold("half");
    let build = fly.trigger("p/job");
    counter.wait("half", 1);
    server.kill_9();
    server.restart();
    counter.release("half");
    let said = fly.watch(build.id).succeeded().stdout;
    assert_eq!(said.matches("(--max-step-output)").count(), 1, "{said}");
    assert_eq!(letters(&said), 64 << 10);
}

#[test]
fn a_builds_log_is_bounded_too() {
    let options = ServerOptions::new().args(["--max-build-output", "1MiB"]);
    let server = options.start();
    let fly = server.fly();
    let plan = [
        task("flood", "", &flood(3_000_000)),
        task("next", "", "echo what comes is dropped; true"),
    ];
    fly.pipeline("p", &job(&plan));
    let said = fly.trigger_and_watch("p/job").succeeded().stdout;
    assert_eq!(said.matches("(--max-build-output)").count(), 2, "{said}");
    assert!(letters(&said) <= 2 << 20);
}

#[test]
fn a_step_whose_team_is_over_its_quota_of_volumes_fails_with_words() {
    let options = ServerOptions::new().args(["--team-quota", "volumes=1MiB,other/volumes=none"]);
    let server = options.start();
    let fly = server.fly();
    let greedy = task(
        "greedy",
        "outputs: [{name: out}]",
        "head -c 3000000 /dev/zero >out/big",
    );
    fly.pipeline("greedy", &job(&[greedy]));
    fly.pipeline("modest", &job(&[task("modest", "", "echo still here")]));
    let ended = fly.trigger_and_watch("greedy/job");
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    let words = "team `main` is over its quota of volumes: the limit is 1.0 MiB";
    assert!(ended.stdout.contains(words), "{}", ended.stdout);
    // What was too much is gone, so that others of the team go on.
    fly.trigger_and_watch("modest/job").succeeded();
}

#[test]
fn pipelines_beyond_the_quota_are_refused_with_words() {
    let options = ServerOptions::new().args(["--team-quota", "pipelines=1"]);
    let server = options.start();
    let fly = server.fly();
    let config = job(&[task("t", "", "true")]);
    fly.pipeline("one", &config);
    let refused = fly.set_pipeline("two", &config);
    assert_ne!(refused.code, Some(0));
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(
        said.contains("quota of pipelines: the limit is 1"),
        "{said}"
    );
    fly.set_pipeline("one", &config).succeeded();
}

#[test]
fn a_team_at_its_quota_of_containers_gives_up_kept_ones_first() {
    let options = ServerOptions::new().args(["--team-quota", "containers=1"]);
    let server = options.start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("t", "", "false")]));
    // The container of a build that failed is kept, and goes for the next one.
    fly.trigger_and_watch("p/job").ended_with(1);
    fly.trigger_and_watch("p/job").ended_with(1);
    let both = [task("a", "", "sleep 1000"), task("b", "", "sleep 1000")];
    fly.pipeline(
        "q",
        &job(&[airside_scenarios::pipelines::in_parallel(
            "fail_fast: true",
            &both,
        )]),
    );
    let ended = fly.trigger_and_watch("q/job");
    let words = "over its quota of containers: the limit is 1";
    assert!(ended.stdout.contains(words), "{}", ended.stdout);
}

#[test]
fn a_team_that_has_used_up_its_logs_prints_and_begins_nothing_more() {
    let options = ServerOptions::new().args(["--team-quota", "logs=100KiB"]);
    let server = options.start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("flood", "", &flood(300_000))]));
    let said = fly.trigger_and_watch("p/job").stdout;
    let words = "team `main` has used up its quota of logs (--team-quota main/logs=…)";
    assert_eq!(said.matches(words).count(), 1, "{said}");
    assert!(letters(&said) <= 100 << 10, "{}", letters(&said));
    let refused = fly.trigger_and_watch("p/job").ended_with(2).stdout;
    let words = "team `main` is over its quota of logs: the limit is 100.0 KiB";
    assert!(refused.contains(words), "{refused}");
    assert_eq!(letters(&refused), 0);
}

/// Each team has the same quota, and a count of its own.
#[test]
fn hostile_teams_over_their_quota_are_no_news_to_another_team() {
    let quota = "logs=100KiB,pipelines=2,volumes=1MiB";
    let options = ServerOptions::new().args(["--team-quota", quota]);
    let server = options.start();
    let fly = server.fly();
    let made = ["set-team", "-n", "other", "--local-user", "test"];
    fly.run(&[&made[..], &["--non-interactive"]].concat())
        .succeeded();
    let other = Fly::log_in(&server.url(), &server.home().join("fly-of-other"));
    let url = server.url();
    let login = [
        "login", "-n", "other", "-c", &url, "-u", "test", "-p", "test",
    ];
    other.run(&login).succeeded();

    // Team main uses up its logs and its pipelines.
    let config = job(&[task("flood", "", &flood(300_000))]);
    fly.pipeline("flood", &config);
    fly.pipeline("second", &config);
    fly.trigger_and_watch("flood/job");
    let is_over = || {
        let refused = fly.trigger_and_watch("flood/job").ended_with(2).stdout;
        assert!(refused.contains("over its quota of logs"), "{refused}");
        assert_ne!(fly.set_pipeline("third", &config).code, Some(0));
    };
    is_over();

    let plan = [
        task(
            "make",
            "outputs: [{name: out}]",
            "head -c 500000 /dev/zero >out/file; echo made",
        ),
        task("use", "inputs: [{name: out}]", "wc -c <out/file"),
    ];
    for pipeline in ["one", "two"] {
        other.pipeline(pipeline, &job(&plan));
        let said = other.trigger_and_watch(&format!("{pipeline}/job"));
        let said = said.succeeded().stdout;
        assert!(said.contains("made") && said.contains("500000"), "{said}");
        assert!(!said.contains("quota"), "{said}");
    }
    is_over();
}

fn mocks(names: &[&str]) -> String {
    let one = |name: &&str| format!("- {{name: {name}, type: mock, source: {{}}}}\n");
    let all: String = names.iter().map(one).collect();
    let uses: String = names
        .iter()
        .map(|name| format!("  - get: {name}\n"))
        .collect();
    format!("resources:\n{all}jobs:\n- name: job\n  plan:\n{uses}")
}

#[test]
fn resources_beyond_the_quota_are_refused_with_words() {
    let options = ServerOptions::new().args(["--team-quota", "resources=2"]);
    let server = options.start();
    let fly = server.fly();
    fly.pipeline("one", &mocks(&["a", "b"]));
    for (pipeline, names) in [("one", &["a", "b", "c"][..]), ("two", &["a"])] {
        let refused = fly.set_pipeline(pipeline, &mocks(names));
        assert_ne!(refused.code, Some(0));
        let said = format!("{}{}", refused.stdout, refused.stderr);
        let words = "quota of resources: the limit is 2";
        assert!(said.contains(words), "{pipeline}: {said}");
    }
    // Fewer make room for others.
    fly.pipeline("one", &mocks(&["a"]));
    fly.pipeline("two", &mocks(&["a"]));
}

#[test]
fn a_resource_keeps_no_more_versions_than_the_quota_lets_it() {
    let options = ServerOptions::new().args(["--team-quota", "versions=2"]);
    let server = options.start();
    let fly = server.fly();
    fly.pipeline("p", &mocks(&["a"]));
    for number in 1..=4 {
        let version = format!("version:v{number}");
        let check = ["check-resource", "-r", "p/a", "-f", &version];
        fly.run(&check).succeeded();
    }
    // The collector forgets the oldest.
    wait_until("two versions are kept", || {
        let kept = fly.run(&["resource-versions", "-r", "p/a", "--json"]);
        let kept = kept.succeeded().stdout;
        ["v1", "v2", "v3", "v4"].map(|version| kept.contains(version)) == [false, false, true, true]
    });
}
