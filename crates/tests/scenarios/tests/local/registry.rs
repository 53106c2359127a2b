//! Tasks in images of a registry: looked for by a check, pulled once, with credentials if need be.

use std::path::Path;

use airside_scenarios::{
    Fly, Registry, Server, ServerOptions, describe_image, layout, pipelines::job,
};

fn digest(layout: &Path) -> String {
    let index = std::fs::read_to_string(layout.join("index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    index["manifests"][0]["digest"].as_str().unwrap().to_owned()
}

fn task(port: &str, source: &str, more: &str) -> String {
    format!(
        "  - task: work\n    config:\n      platform: linux\n      \
         image_resource: {{type: registry-image, source: {{repository: '127.0.0.1:{port}/small/image'{source}}}{more}}}\n      \
         run: {{path: sh, args: [-c, 'echo in $(grep -c . /etc/passwd) lines']}}\n"
    )
}

/// The types of a build's events, in their order, and all of its events as text.
fn events(server: &Server, fly: &Fly, id: i64) -> (Vec<String>, String) {
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let path = format!("/api/v1/builds/{id}/events");
    let (_, text) = server.http("GET", &path, &headers, "");
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let kinds = lines.filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(event.get("event")?.as_str()?.to_owned())
    });
    (kinds.collect(), text.clone())
}

#[test]
fn an_image_is_looked_for_then_pulled_and_both_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    let registry = Registry::start(&layout, &["--user", "me:pass word"]);
    let server = Server::start();
    let fly = server.fly();
    let access = ", username: me, password: 'pass word'";
    fly.pipeline("p", &job(&[task(&registry.port, access, "")]));
    let build = fly.trigger("p/job");
    let output = fly.watch(build.id).succeeded();
    assert!(output.stdout.contains("in 6 lines"), "{output:?}");
    let (kinds, text) = events(&server, &fly, build.id);
    let interesting = [
        "image-check",
        "image-get",
        "initialize-check",
        "finish-get",
        "start-task",
    ];
    let found: Vec<&String> = kinds
        .iter()
        .filter(|kind| interesting.contains(&kind.as_str()))
        .collect();
    assert_eq!(found, interesting.iter().collect::<Vec<_>>(), "{kinds:?}");
    assert!(text.contains(&digest(&layout)), "{text}");
    assert!(!text.contains("pass word"), "{text}");

    // Known and here: the registry is not asked again.
    drop(registry);
    fly.trigger_and_watch("p/job").succeeded();
    let images = std::fs::read_dir(server.data().join("images/images")).unwrap();
    assert_eq!(images.count(), 1);
}

#[test]
fn a_given_version_is_not_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    let registry = Registry::start(&layout, &[]);
    let server = Server::start();
    let fly = server.fly();
    let version = format!(", version: {{digest: '{}'}}", digest(&layout));
    fly.pipeline("p", &job(&[task(&registry.port, "", &version)]));
    let build = fly.trigger("p/job");
    fly.watch(build.id).succeeded();
    let (kinds, _) = events(&server, &fly, build.id);
    let has = |kind: &str| kinds.iter().any(|found| found == kind);
    assert!(has("image-get") && !has("image-check"), "{kinds:?}");
}

#[test]
fn a_registry_that_says_no_or_nothing_ends_the_build_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&layout(folder.path()), &["--user", "me:secret"]);
    let server = ServerOptions::new()
        .args(["--registry-mirror", "mirrored.example=127.0.0.1:1"])
        .start();
    let fly = server.fly();
    let nobody = task("1", "", "");
    let mirrored = nobody.replace("127.0.0.1:1/", "mirrored.example/");
    for (name, task, words) in [
        (
            "denied",
            task(&registry.port, "", ""),
            "username and password",
        ),
        ("nobody", nobody, "127.0.0.1:1"),
        ("mirrored", mirrored, "127.0.0.1:1"),
    ] {
        fly.pipeline(name, &job(&[task]));
        let output = fly.trigger_and_watch(&format!("{name}/job")).ended_with(2);
        assert!(output.stdout.contains(words), "{name}: {output:?}");
        assert!(
            output.stdout.contains("image check failed"),
            "{name}: {output:?}"
        );
    }
}

#[test]
fn the_images_user_and_program_count_where_the_task_says_none() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    let program = ["sh", "-c", "echo by the image as $(id -u):$(id -g)"];
    describe_image(
        &layout,
        &serde_json::json!({"User": "1234:56", "Cmd": program}),
    );
    let registry = Registry::start(&layout, &[]);
    let server = Server::start();
    let fly = server.fly();
    let task = |run: &str| {
        format!(
            "  - task: work\n    config:\n      platform: linux\n      \
             image_resource: {{type: registry-image, source: {{repository: '127.0.0.1:{}/small/image'}}}}\n      \
             run: {run}\n",
            registry.port
        )
    };
    let script = "args: [-c, 'echo as $(id -u)']";
    for (run, expected) in [
        (format!("{{path: sh, {script}}}"), "as 1234"),
        (format!("{{path: sh, user: root, {script}}}"), "as 0"),
        ("{}".to_owned(), "by the image as 1234:56"),
    ] {
        fly.pipeline("p", &job(&[task(&run)]));
        let output = fly.trigger_and_watch("p/job").succeeded();
        assert!(output.stdout.contains(expected), "{run}: {output:?}");
    }
}

/// Old pipelines pull with Docker's type, which needs Docker; what they mean needs none.
#[test]
fn docker_image_is_pulled_like_registry_image_and_a_put_names_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&layout(folder.path()), &["--user", "me:secret"]);
    let server = Server::start();
    let fly = server.fly();
    let source = format!(
        "{{repository: '{}', username: me, password: secret, max_concurrent_downloads: 3}}",
        registry.repository()
    );
    let run = |name: &str| {
        format!("run: {{path: sh, args: [-c, 'echo {name} in $(grep -c . /etc/passwd) lines']}}")
    };
    let pipeline = format!(
        "resources: [{{name: base, type: docker-image, source: {source}}}]\n\
         jobs:\n- name: job\n  plan:\n  - get: base\n\
         \x20 - {{task: got, image: base, config: {{platform: linux, {}}}}}\n\
         \x20 - {{task: own, config: {{platform: linux, image_resource: {{type: docker-image, source: {source}}}, {}}}}}\n\
         \x20 - put: base\n",
        run("got"),
        run("own"),
    );
    fly.pipeline("p", &pipeline);
    let output = fly.trigger_and_watch("p/job").ended_with(2);
    for words in [
        "got in 6 lines",
        "own in 6 lines",
        "{name: docker-image, type: registry-image, source: {repository: concourse/docker-image-resource}, privileged: true}",
    ] {
        assert!(output.stdout.contains(words), "no {words:?} in {output:?}");
    }
}
