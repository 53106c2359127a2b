//! Mistakes of users, and the messages for them.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    thread,
};

use airside_scenarios::{Environment, Fly, Output, Server, wait_until};

/// A pipeline of one job with one task.
fn one_task(config: &str) -> String {
    format!("jobs:\n- name: job\n  plan:\n  - task: work\n    config: {config}\n")
}

fn run(fly: &Fly, name: &str, pipeline: &str) -> Output {
    fly.pipeline(name, pipeline);
    fly.trigger_and_watch(&format!("{name}/job"))
}

#[track_caller]
fn assert_says(output: &Output, words: &str) {
    let all = format!("{}{}", output.lines().join("\n"), output.stderr);
    assert!(all.contains(words), "no {words:?} in:\n{all}");
}

#[test]
fn wrong_yaml_is_refused_at_its_line() {
    let server = Server::start();
    let fly = server.fly();
    // fly finds this one before the server does.
    let no_step = if Environment::get().has_real_fly() {
        "no step configured"
    } else {
        "no core step type declared"
    };
    for (config, words) in [
        ("jobs:\n- name: a\n  plan: [\n", "line 3"),
        ("jobs:\n- name: a\n  plan:\n  - tusk: t\n", no_step),
        (
            "jobs:\n- name: a\n  plan:\n  - get: gone\n",
            "jobs.a.plan.do[0].get(gone): unknown resource 'gone'",
        ),
        (
            "jobs:\n- {name: twice, plan: []}\n- {name: twice, plan: []}\n",
            "twice",
        ),
    ] {
        let output = fly.set_pipeline("wrong", config).ended_with(1);
        assert_says(&output, words);
    }
    assert_eq!(fly.run(&["pipelines"]).succeeded().stdout, "");
}

/// fly reads YAML itself; other clients send it as it is.
#[test]
fn wrong_yaml_from_another_client_is_refused_at_its_line() {
    let server = Server::start();
    let fly = server.fly();
    let path = "/api/v1/teams/main/pipelines/wrong/config";
    for (config, words) in [
        ("jobs:\n- name: a\n  plan: [\n", "line 3"),
        (
            "jobs:\n- name: a\n  plan:\n  - task: t\n  bad: [}\n",
            "line 5",
        ),
        (
            "jobs:\n- name: a\n  plan:\n  - tusk: t\n",
            "did you mean 'task'?",
        ),
    ] {
        let headers = [
            ("Content-Type", "application/x-yaml"),
            ("Authorization", &fly.authorization()),
        ];
        let (status, body) = server.http("PUT", path, &headers, config);
        assert_eq!(status, 400, "{body}");
        assert!(body.contains(words), "no {words:?} in {body}");
    }
}

#[test]
fn a_missing_image_ends_in_error() {
    let server = Server::start();
    let fly = server.fly();
    let registry = empty_registry();
    let none = format!("{registry}/none");
    let from_registry = format!("{{type: registry-image, source: {{repository: '{none}'}}}}");
    for (name, image, words) in [
        (
            "layout",
            "{type: oci-layout, source: {path: /there/is/none}}",
            "/there/is/none",
        ),
        ("registry", &from_registry, &none),
        (
            "type",
            "{type: floppy, source: {}}",
            "images of type `floppy` are not supported",
        ),
        (
            "source",
            "{type: oci-layout, source: {}}",
            "needs a `path` in its source",
        ),
    ] {
        let task = format!("{{platform: linux, image_resource: {image}, run: {{path: 'true'}}}}");
        let output = run(&fly, name, &one_task(&task)).ended_with(2);
        assert_says(&output, words);
        assert_eq!(output.lines().last().unwrap(), "errored");
    }
    let output = run(
        &fly,
        "none",
        &one_task("{platform: linux, run: {path: 'true'}}"),
    )
    .ended_with(2);
    assert_says(&output, "the task has no image");
}

/// Returns the address of a registry that has no image at all.
fn empty_registry() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let head =
                "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nConnection: close";
            let body =
                r#"{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}"#;
            let _ = write!(
                stream,
                "{head}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

#[test]
fn a_registry_that_does_not_answer_ends_in_error_and_is_named() {
    let server = Server::start();
    let fly = server.fly();
    let image = "{type: registry-image, source: {repository: '127.0.0.1:1/none'}}";
    let task = format!("{{platform: linux, image_resource: {image}, run: {{path: 'true'}}}}");
    let output = run(&fly, "p", &one_task(&task)).ended_with(2);
    assert_says(&output, "cannot reach 127.0.0.1:1");
    assert_says(&output, "image check failed");
}

#[test]
fn a_missing_input_ends_in_error() {
    let server = Server::start();
    let fly = server.fly();
    let task = "{platform: linux, image_resource: {type: host, source: {}}, \
        inputs: [{name: code}, {name: data}, {name: spare, optional: true}], run: {path: 'true'}}";
    let output = run(&fly, "p", &one_task(task)).ended_with(2);
    assert_says(&output, "missing inputs: code, data");
    assert!(
        !output.stdout.contains("selected worker"),
        "nothing is placed: {}",
        output.stdout
    );
}

#[test]
fn a_missing_executable_ends_in_error() {
    let server = Server::start();
    let fly = server.fly();
    for (name, run_config, words) in [
        ("path", "{path: /no/such/program}", "/no/such/program"),
        ("lookup", "{path: no-such-program}", "no-such-program"),
        ("relative", "{path: ./here/it/is/not}", "here/it/is/not"),
        (
            "user",
            "{path: 'true', user: nobody-knows-me}",
            "nobody-knows-me",
        ),
    ] {
        let task = format!(
            "{{platform: linux, image_resource: {{type: host, source: {{}}}}, run: {run_config}}}"
        );
        let output = run(&fly, name, &one_task(&task)).ended_with(2);
        assert_says(&output, words);
        assert_eq!(output.lines().last().unwrap(), "errored");
    }
}

/// The build waits as in Concourse: a missing version may come.
#[test]
fn a_build_waits_and_says_why_while_its_resource_has_no_version() {
    let server = Server::start();
    let fly = server.fly();
    let pipeline = |type_: &str, source: &str| {
        format!(
            "resources:\n- name: r\n  type: {type_}\n  source: {source}\n\
             jobs:\n- name: job\n  plan:\n  - get: r\n"
        )
    };
    for (name, type_, source) in [
        ("broken", "mock", "{check_failure: on purpose}"),
        ("empty", "mock", "{no_initial_version: true}"),
        ("unknown", "carrier-pigeon", "{}"),
    ] {
        let set = fly.set_pipeline(name, &pipeline(type_, source));
        if set.code != Some(0) {
            assert_says(&set, "carrier-pigeon");
            continue;
        }
        fly.run(&["unpause-pipeline", "-p", name]).succeeded();
        let build = fly.trigger(&format!("{name}/job"));
        let path = format!("/api/v1/builds/{}/preparation", build.id);
        wait_until("the build says why it waits", || {
            let said = fly.run(&["curl", &path]).succeeded().stdout;
            said.contains("latest version of resource not found")
        });
        let id = build.id.to_string();
        fly.run(&["abort-build", "-b", &id]).succeeded();
        fly.watch(build.id).ended_with(3);
    }
}
