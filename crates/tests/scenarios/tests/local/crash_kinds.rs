//! The server is killed while it sets a pipeline, while a task fills its caches, and while it
//! fetches the image of a resource type.

use std::{path::Path, process::Command, thread, time::Duration};

use airside_scenarios::{
    ANEW, Counter, Environment, Fifo, Fly, Server, ServerOptions, assert_same_text,
    plans::{pipeline, task},
};
use serde_json::json;

/// Moments after the step before has gone on, in milliseconds. No condition to wait for: what
/// follows takes a few of them, and the kill should hit it here and there.
const MOMENTS: [u64; 6] = [0, 5, 15, 30, 60, 120];

const CHILD: &str = "/api/v1/teams/main/pipelines/child";

#[test]
fn while_it_sets_a_pipeline() {
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let child = json!({"jobs": [{"name": "of-the-child", "plan": [task("t", "true")]}]});
    let files = json!({"child.json": child.to_string(), "n": ANEW});
    let source = json!({"force_version": "1", "create_files": files});
    let resources = json!([{"name": "src", "type": "mock", "source": source}]);
    let plan = json!([
        {"get": "src"},
        task("before", &counter.bump("before")),
        {"set_pipeline": "child", "file": "src/child.json"},
        task("after", &counter.bump("after")),
    ]);
    let config = pipeline(resources, plan);
    fly.pipeline_anew("p", &config);
    fly.trigger_and_watch("p/job").succeeded();
    let expected = fly.watch(1).succeeded().stdout;
    let who = fly.authorization();
    for (number, moment) in (2..).zip(MOMENTS) {
        let (status, _) = server.http("DELETE", CHILD, &[("Authorization", &who)], "");
        assert_eq!(status, 204);
        fly.pipeline_anew("p", &config);
        counter.hold("before");
        let build = fly.trigger("p/job");
        counter.wait("before", number);
        counter.release("before");
        thread::sleep(Duration::from_millis(moment));
        server.kill_9();
        server.restart();
        assert_same_text(&fly.watch(build.id).succeeded().stdout, &expected);
        assert_eq!(counter.count("after"), number);
        let path = format!("{CHILD}/jobs");
        let (_, jobs) = server.http("GET", &path, &[("Authorization", &who)], "");
        assert!(jobs.contains("of-the-child"), "{jobs}");
    }
}

/// Files that a task wrote to its cache are there for the next build, once.
#[test]
fn while_a_task_fills_its_caches() {
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let script = format!(
        "echo begun >> kept/log; {}; echo ended >> kept/log; echo kept $(cat kept/log)",
        counter.bump("work")
    );
    let mut step = task("work", &script);
    step["config"]["caches"] = json!([{"path": "kept"}]);
    fly.pipeline("p", &pipeline(json!([]), json!([step])));
    fly.trigger_and_watch("p/job").succeeded();
    counter.hold("work");
    let build = fly.trigger("p/job");
    counter.wait("work", 2);
    server.kill_9();
    server.restart();
    counter.release("work");
    let once = "begun ended";
    let printed = |fly: &Fly, id: i64| fly.watch(id).succeeded().lines().join("\n");
    assert!(printed(&fly, build.id).contains(&format!("kept {once} {once}\n")));
    for (number, moment) in (3..).zip(MOMENTS) {
        counter.hold("work");
        let build = fly.trigger("p/job");
        counter.wait("work", number);
        counter.release("work");
        thread::sleep(Duration::from_millis(moment));
        server.kill_9();
        server.restart();
        let text = printed(&fly, build.id);
        let expected = format!("kept{}\n", format!(" {once}").repeat(number));
        assert!(text.contains(&expected), "{text}");
    }
}

/// An image for `mock` to mirror.
fn layout(folder: &Path) -> String {
    let path = folder.join("layout");
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev/image");
    let mut tool = Command::new(tool);
    let made = tool.arg("layout").arg(Environment::get().rootfs).arg(&path);
    assert!(made.status().expect("dev/image runs").success());
    path.display().to_string()
}

#[test]
fn while_it_fetches_the_image_of_a_type() {
    let folder = tempfile::tempdir().unwrap();
    let image = layout(folder.path());
    let start = || ServerOptions::new().args(["--mock-image", &image]).start();
    let mut type_ = json!({"name": "own", "type": "mock"});
    type_["source"] =
        json!({"mirror_self": true, "initial_version": "t1", "create_files": {"gate": "x"}});
    let config = json!({
        "resource_types": [type_],
        "resources": [{"name": "thing", "type": "own", "source": {"force_version": "v1"}, "version": {"version": "v1"}}],
        "jobs": [{"name": "job", "plan": [{"get": "thing"}]}],
    });
    let undisturbed = start();
    let fly = undisturbed.fly();
    fly.pipeline("p", &config.to_string());
    fly.trigger_and_watch("p/job").succeeded();
    let expected = fly.watch(1).succeeded().stdout;

    let mut server = start();
    let fly = server.fly();
    fly.pipeline("p", &config.to_string());
    let _triggering = fly.spawn(&["trigger-job", "-j", "p/job"]);
    let gate = Fifo::in_next_output(&server.data(), "gate");
    fly.wait_for_text(1, "fetching version: t1");
    server.kill_9();
    server.restart();
    gate.drain();
    assert_same_text(&fly.watch(1).succeeded().stdout, &expected);
}
