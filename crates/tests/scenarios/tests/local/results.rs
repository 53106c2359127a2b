//! Ends of steps, as fly reports them.

use airside_scenarios::{Output, Server};

fn pipeline(jobs: &[(&str, &str)]) -> String {
    let mut text = "jobs:\n".to_owned();
    for (name, script) in jobs {
        text += &format!(
            "- name: {name}\n  plan:\n  - task: work\n    config:\n      platform: linux\n      \
             image_resource: {{type: host, source: {{}}}}\n      \
             run:\n        path: bash\n        args:\n        - -c\n        - |\n          {script}\n"
        );
    }
    text
}

fn ends(output: &Output, lines: &[&str]) {
    let printed = output.lines();
    assert!(
        printed.ends_with(
            &lines
                .iter()
                .map(|line| (*line).to_owned())
                .collect::<Vec<_>>()
        ),
        "{printed:#?}"
    );
}

#[test]
fn exit_statuses_reach_fly() {
    // fly ends with the status of the last task; without one, 1 means failed, 2 errored, 3 aborted.
    let server = Server::start();
    let fly = server.fly();
    let jobs = [
        ("good", "echo done"),
        ("bad", "echo almost; exit 7"),
        ("killed", "echo last words; kill -KILL $$"),
        ("terminated", "kill -TERM $$"),
        ("bound-to-fail", "( sleep 1000 & ) ; exit 1"),
    ];
    fly.pipeline("p", &pipeline(&jobs));
    ends(
        &fly.trigger_and_watch("p/good").succeeded(),
        &["done", "succeeded"],
    );
    ends(
        &fly.trigger_and_watch("p/bad").ended_with(7),
        &["almost", "failed"],
    );
    let killed = fly.trigger_and_watch("p/killed").ended_with(128 + 9);
    ends(
        &killed,
        &["last words", "the process was killed by signal 9", "failed"],
    );
    let terminated = fly.trigger_and_watch("p/terminated").ended_with(128 + 15);
    ends(
        &terminated,
        &["the process was killed by signal 15", "failed"],
    );
    // What a step leaves running does not keep it from ending.
    ends(
        &fly.trigger_and_watch("p/bound-to-fail").ended_with(1),
        &["failed"],
    );
}

#[test]
fn a_failure_ends_the_plan() {
    let server = Server::start();
    let fly = server.fly();
    let task = |name: &str, script: &str| {
        format!(
            "  - task: {name}\n    config: {{platform: linux, image_resource: {{type: host, source: {{}}}}, \
             run: {{path: bash, args: [-c, '{script}']}}}}\n"
        )
    };
    let plan = [
        task("one", "echo one"),
        task("two", "exit 3"),
        task("three", "echo three"),
    ]
    .concat();
    fly.pipeline("p", &format!("jobs:\n- name: job\n  plan:\n{plan}"));
    let output = fly.trigger_and_watch("p/job").ended_with(3);
    assert!(output.lines().contains(&"one".to_owned()), "{output:?}");
    assert!(!output.stdout.contains("echo three"), "{output:?}");
}

#[test]
fn output_of_any_kind_arrives_whole() {
    let server = Server::start();
    let fly = server.fly();
    let jobs = [
        (
            "wide",
            "for i in $(seq 20000); do echo \"line $i äöü€𝄞\"; done",
        ),
        ("bytes", "printf 'no newline'"),
        ("nothing", "true"),
    ];
    fly.pipeline("p", &pipeline(&jobs));
    let wide = fly.trigger_and_watch("p/wide").succeeded();
    let lines: Vec<String> = wide
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("line "))
        .collect();
    let expected: Vec<String> = (1..=20000).map(|i| format!("line {i} äöü€𝄞")).collect();
    assert!(
        lines == expected,
        "{} lines, the last {:?}",
        lines.len(),
        lines.last()
    );
    let bytes = fly.trigger_and_watch("p/bytes").succeeded();
    assert!(bytes.stdout.contains("no newline"), "{bytes:?}");
    fly.trigger_and_watch("p/nothing").succeeded();
}
