//! `airside run --watch`.

use airside_scenarios::{Counter, Run, plans::task};
use serde_json::json;

fn with_input(mut step: serde_json::Value) -> serde_json::Value {
    step["config"]["inputs"] = json!([{"name": "src"}]);
    step
}

fn pipeline(script: &str) -> String {
    let step = with_input(task("t", script));
    json!({
        "resources": [{"name": "src", "type": "mock", "source": {}}],
        "jobs": [{"name": "j", "plan": [{"get": "src"}, step]}],
    })
    .to_string()
}

#[test]
fn a_change_of_an_input_or_the_pipeline_is_another_run() {
    let run = Run::new(&pipeline("echo \"it says $(cat src/text)\""));
    run.file("code/text", "one\n");
    let running = run.spawn(&["--watch", "--input", "src=code"]);
    running.wait_for_text("it says one");
    running.wait_for_text("waiting for a change");
    run.file("code/deep/er", "");
    run.file("code/text", "two\n");
    running.wait_for_text("it says two");
    // A mistake waits for its correction.
    run.file("pipeline.yml", "jobs: [");
    running.wait_for_text("pipeline.yml:1");
    run.file("pipeline.yml", &pipeline("echo \"now $(cat src/text)\""));
    running.wait_for_text("now two");
    running.wait_for_text("changed ────");
    running.interrupt();
    let output = running.wait();
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert!(
        output.stdout.contains("text changed ────"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("pipeline.yml changed ────"),
        "{}",
        output.stdout
    );
    run.nothing_is_left();
}

#[test]
fn a_change_during_a_run_aborts_it() {
    let counter = Counter::start();
    counter.hold("work");
    let run = Run::new(&pipeline(&format!(
        "if grep -q slow src/text; then {}; fi; cat src/text",
        counter.bump("work")
    )));
    run.file("code/text", "slow\n");
    let running = run.spawn(&["--watch", "-i", "src=code"]);
    counter.wait("work", 1);
    run.file("code/text", "quick\n");
    running.wait_for_text("text changed; aborting this run for another");
    running.wait_for_text("| quick");
    running.interrupt();
    running.wait();
    run.nothing_is_left();
}
