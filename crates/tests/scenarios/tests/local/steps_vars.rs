//! Variables and files: load_var, tasks from files, set_pipeline, var sources and what must not
//! show.

use airside_scenarios::{
    Fly, Server,
    plans::{config, pipeline, task, with},
};
use serde_json::{Value, json};

/// A resource that hands out the given files.
fn files(files: Value) -> Value {
    json!([{"name": "src", "type": "mock", "source": {"force_version": "1", "create_files": files}}])
}

fn plan(steps: &[Value]) -> Value {
    let mut plan = vec![json!({"get": "src"})];
    plan.extend_from_slice(steps);
    json!(plan)
}

/// Returns fly's exit code and the output of the build.
fn run(fly: &Fly, text: &str) -> (i32, String) {
    fly.pipeline("p", text);
    let output = fly.trigger_and_watch("p/job");
    (output.code.unwrap(), output.lines().join("\n"))
}

#[test]
fn a_variable_from_a_file_is_known_later_and_does_not_show() {
    let server = Server::start();
    let fly = server.fly();
    let source = files(json!({"v.json": {"user": "ann", "word": "hunter2"}, "plain": " seen \n"}));
    let script = "echo ((.:v.user)) $WORD ((.:plain)); printf 'hun'; sleep 0.2; printf 'ter2!\\n'";
    let mut show = task("show", script);
    show["params"] = json!({"WORD": "((.:v.word))"});
    let steps = [
        json!({"load_var": "v", "file": "src/v.json"}),
        json!({"load_var": "plain", "file": "src/plain", "reveal": true}),
        show,
    ];
    let (code, printed) = run(&fly, &pipeline(source, plan(&steps)));
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("var v fetched.\nadded var v to build.\n"),
        "{printed}"
    );
    assert!(
        printed.contains("\n((redacted)) ((redacted)) seen\n((redacted))!\n"),
        "{printed}"
    );
    assert!(
        !printed.contains("hunter2") && !printed.contains("ann"),
        "{printed}"
    );
    assert!(
        printed.contains("[WARNING] WORD was defined in pipeline but missing"),
        "{printed}"
    );
}

#[test]
fn files_that_are_not_there_err() {
    let server = Server::start();
    let fly = server.fly();
    for (step, words) in [
        (
            json!({"load_var": "v", "file": "src/none"}),
            "file 'none' not found within artifact 'src'",
        ),
        (
            json!({"load_var": "v", "file": "else/f"}),
            "unknown artifact source: 'else' in file path 'f'",
        ),
        (
            json!({"load_var": "v", "file": "src/broken.json"}),
            "failed to parse src/broken.json in format json",
        ),
        (
            json!({"task": "t", "file": "src/none.yml"}),
            "task config 'src/none.yml' not found",
        ),
        (
            json!({"task": "t", "file": "src/task.yml"}),
            "failed to interpolate task config: undefined vars: who",
        ),
        (
            json!({"set_pipeline": "other", "file": "else/p.yml"}),
            "unknown artifact source: 'else' in file path 'else/p.yml'",
        ),
        (
            json!({"task": "t", "image": "nothing", "config": config("true")}),
            "missing image artifact source: nothing",
        ),
    ] {
        let source = files(json!({
            "broken.json": "{", "task.yml": config("echo START_VARwhoEND_VAR").to_string(),
        }));
        let (code, printed) = run(&fly, &pipeline(source, plan(&[step])));
        assert_eq!(code, 2, "{printed}");
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn a_task_from_a_file_takes_vars_and_params() {
    let server = Server::start();
    let fly = server.fly();
    let mut file = config("echo START_VARwordEND_VAR $TONE START_VAR.:localEND_VAR");
    file["params"] = json!({"TONE": "low"});
    let source = files(json!({"task.json": file.to_string(), "local": "here"}));
    let steps = [
        json!({"load_var": "local", "file": "src/local", "reveal": true}),
        json!({"task": "t", "file": "src/task.json", "vars": {"word": "hi"}, "params": {"TONE": "HIGH"}}),
    ];
    let (code, printed) = run(&fly, &pipeline(source, plan(&steps)));
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("\nhi HIGH here\n"), "{printed}");
    assert!(!printed.contains("WARNING"), "{printed}");
}

#[test]
fn a_build_sets_pipelines() {
    let server = Server::start();
    let fly = server.fly();
    let child = "jobs: [{name: hello, plan: [{load_var: START_VARvEND_VAR, file: a/b}]}]";
    let source = files(json!({"p.yml": child, "bad.yml": "jobs: [{name: a, plann: []}]"}));
    let set = json!({"set_pipeline": "child", "file": "src/p.yml", "vars": {"v": "x"}});
    let text = pipeline(source.clone(), plan(&[set]));
    let (code, printed) = run(&fly, &text);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("job hello has been added:"), "{printed}");
    assert!(
        printed.contains("setting pipeline: child\ndone\n"),
        "{printed}"
    );
    let listed = fly.run(&["pipelines", "--json"]).succeeded();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let child = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|each| each["name"] == "child");
    assert_eq!(child.unwrap()["paused"], false);
    let again = fly
        .trigger_and_watch("p/job")
        .succeeded()
        .lines()
        .join("\n");
    assert!(again.contains("no changes to apply.\n"), "{again}");

    for (step, code, words) in [
        (
            json!({"set_pipeline": "self", "file": "src/bad.yml"}),
            1,
            "invalid pipeline:\n- ",
        ),
        (
            json!({"set_pipeline": "child", "file": "src/p.yml", "team": "nobody"}),
            2,
            "team nobody not found",
        ),
    ] {
        let (ended, printed) = run(&fly, &pipeline(source.clone(), plan(&[step])));
        assert_eq!(ended, code, "{printed}");
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn var_sources_are_asked_when_a_step_runs() {
    let server = Server::start();
    let fly = server.fly();
    let source = json!([{"name": "s", "type": "dummy", "config": {"vars": {"pw": "hunter2"}}}]);
    let steps = |script: &str| {
        let job = json!({"name": "job", "plan": [with(task("t", script), json!({}))]});
        json!({"var_sources": source, "jobs": [job]}).to_string()
    };
    let (code, printed) = run(&fly, &steps("echo is ((s:pw)) | tr u U"));
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("running bash -c echo is ((redacted)) | tr"),
        "{printed}"
    );
    assert!(printed.contains("\nis hUnter2\n"), "{printed}");
    let (code, printed) = run(&fly, &steps("echo ((s:other)) ((plain))"));
    assert_eq!(code, 2, "{printed}");
    let words = "failed to interpolate task config: undefined vars: plain, s:other";
    assert!(printed.contains(words), "{printed}");
}

#[test]
fn a_task_finds_its_caches_again() {
    let server = Server::start();
    let fly = server.fly();
    let mut step = task(
        "t",
        "echo \"before: $(cat kept/n)\"; echo x >> kept/n; ls other",
    );
    step["config"]["caches"] = json!([{"path": "kept"}]);
    step["config"]["outputs"] = json!([{"name": "other"}]);
    let text = pipeline(json!([]), json!([step]));
    for before in ["", "x", "x\nx"] {
        let (code, printed) = run(&fly, &text);
        assert_eq!(code, 0, "{printed}");
        assert!(
            printed.contains(&format!("\nbefore: {before}\n")),
            "{printed}"
        );
    }
}
