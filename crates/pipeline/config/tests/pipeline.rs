//! A pipeline that uses all there is: its JSON, its plans, its inputs and outputs.

use std::collections::BTreeMap;

use airside_config::{
    CheckEvery, CheckOptions, Config, JobInput, JobOutput, PlanError, VersionSpec, check_plan,
    image_plans, inputs, load, load_filled_task, load_task, outputs, plan,
};
use airside_model::{PlanId, Version};
use serde_json::json;

const PIPELINE: &str = include_str!("pipeline.yml");

fn config() -> Config {
    load(PIPELINE).expect("the pipeline is sound").config
}

#[test]
fn the_json_is_what_fly_reads() {
    let json = serde_json::to_value(config()).unwrap();
    assert_eq!(
        json["resources"],
        json!([
            {
                "name": "repo", "type": "git", "check_every": "1m", "icon": "git", "tags": ["a"],
                "source": {
                    "uri": "https://example.com/r.git", "depth": 1,
                    "ratio": 123456789.12345679, "when": "2001-12-14",
                },
                "version": {"ref": "1"},
            },
            {"name": "out", "type": "mock", "source": null},
        ])
    );
    let build = &json["jobs"][0];
    assert_eq!(
        build["build_log_retention"],
        json!({"builds": 3, "days": 16})
    );
    assert_eq!(build["max_in_flight"], 3);
    assert_eq!(
        build["plan"][0],
        json!({"in_parallel": {"steps": [
            {"get": "repo", "trigger": true, "version": "every"},
            {"get": "same", "resource": "repo", "version": {"ref": "1"}, "params": {"depth": 2}, "tags": ["own"]},
        ]}})
    );
    assert_eq!(
        build["plan"][1],
        json!({
            "task": "unit", "privileged": true, "hermetic": true,
            "container_limits": {"cpu": 512, "memory": 1 << 30},
            "params": {"OVER": "5"},
            "input_mapping": {"src": "repo"}, "output_mapping": {"bin": "built"},
            "config": {
                "platform": "linux", "rootfs_uri": "host:///",
                "image_resource": {"type": "mock", "source": {"a": 1}, "params": {"b": 2}, "version": {"ref": "3"}},
                "container_limits": {"memory": 10},
                "params": {
                    "A": "1", "B": "true", "C": "1.5", "D": "420", "E": "{\"a\":\"\\u003c\",\"z\":1}",
                    "F": "", "G": "[1]", "H": "1e+21", "I": "x",
                },
                "inputs": [{"name": "src"}, {"name": "more", "path": "p", "optional": true}],
                "outputs": [{"name": "bin", "path": "out/bin"}],
                "caches": [{"path": ".cache"}],
                "run": {"path": "sh", "args": ["-c", "1", "true", "2.50"], "dir": "src", "user": "nobody"},
            },
        })
    );
    assert_eq!(
        json["jobs"][1]["plan"],
        json!([
            {"get": "repo", "passed": ["bu*"]},
            {"put": "out", "no_get": true, "inputs": "detect"},
            {"in_parallel": {"limit": 2, "fail_fast": true, "steps": [
                {"put": "again", "resource": "out", "inputs": "all"},
            ]}},
        ])
    );
    assert_eq!(json["user_data"], json!({"owner": ["a", 1, 1.5, null]}));
    assert!(
        json.get("x-anchors").is_none(),
        "unknown top-level keys are dropped"
    );
}

#[test]
fn json_round_trips() {
    let config = config();
    let text = serde_json::to_string(&config).unwrap();
    let stored: Config = serde_json::from_str(&text).unwrap();
    assert_eq!(stored, config, "as stored");
    assert_eq!(load(&text).unwrap().config, config, "as set again");
    assert_eq!(serde_json::to_string(&stored).unwrap(), text);
}

fn versions() -> BTreeMap<String, Version> {
    BTreeMap::from([
        ("repo".into(), Version::from([("ref", "7")])),
        ("same".into(), Version::from([("ref", "1")])),
    ])
}

#[test]
fn plans() {
    let config = config();
    let plan_json = |job: &str| {
        let plan = plan(config.job(job).unwrap(), &config, &versions()).unwrap();
        serde_json::to_value(plan).unwrap()
    };
    let repo_source = serde_json::to_value(&config.resources[0].source).unwrap();
    let task_config =
        serde_json::to_value(&config).unwrap()["jobs"][0]["plan"][1]["config"].clone();
    assert_eq!(
        plan_json("build"),
        json!({"id": "9", "do": [
            {"id": "3", "in_parallel": {"steps": [
                {"id": "1", "get": {
                    "name": "repo", "type": "git", "resource": "repo", "source": repo_source,
                    "image": {"base_type": "git"},
                    "version": {"ref": "7"}, "tags": ["job-tag"],
                }},
                {"id": "2", "get": {
                    "name": "same", "type": "git", "resource": "repo", "source": repo_source,
                    "image": {"base_type": "git"},
                    "params": {"depth": 2}, "version": {"ref": "1"}, "tags": ["own"],
                }},
            ]}},
            {"id": "4", "task": {
                "name": "unit", "privileged": true, "hermetic": true, "config": task_config,
                "container_limits": {"cpu": 512, "memory": 1 << 30}, "params": {"OVER": "5"},
                "input_mapping": {"src": "repo"}, "output_mapping": {"bin": "built"}, "tags": ["job-tag"],
            }},
            {"id": "8", "do": [
                {"id": "7", "on_success": {
                    "step": {"id": "5", "put": {
                        "name": "out", "type": "mock", "resource": "out", "source": {}, "image": {"base_type": "mock"},
                        "params": {"file": "built/x"}, "inputs": ["built"], "tags": ["do-tag"],
                    }},
                    "on_success": {"id": "6", "get": {
                        "name": "out", "type": "mock", "resource": "out", "source": {}, "image": {"base_type": "mock"},
                        "params": {"skip": true}, "version_from": "5", "tags": ["do-tag"],
                    }},
                }},
            ]},
        ]})
    );
    let ship = plan_json("ship");
    assert_eq!(ship["id"], "7");
    assert_eq!(
        ship["do"][1],
        json!({"id": "2", "put": {
            "name": "out", "type": "mock", "resource": "out", "source": {}, "image": {"base_type": "mock"},
        }}),
        "no_get leaves the put alone"
    );
    assert_eq!(ship["do"][2]["in_parallel"]["limit"], 2);
    assert_eq!(
        ship["do"][2]["in_parallel"]["steps"][0]["on_success"]["step"]["put"]["inputs"],
        "all"
    );
}

#[test]
fn ids_are_hexadecimal() {
    let gets: String = (0..10)
        .map(|n| format!("{{get: g{n}, resource: r}}, "))
        .collect();
    let text = format!("resources: [{{name: r, type: mock}}]\njobs: [{{name: j, plan: [{gets}]}}]");
    let config = load(&text).unwrap().config;
    let versions = (0..10)
        .map(|n| (format!("g{n}"), Version::from([("v", "1")])))
        .collect();
    let plan = plan(&config.jobs[0], &config, &versions).unwrap();
    assert_eq!(plan.id.as_str(), "b");
}

#[test]
fn a_plan_needs_all_versions_and_resources() {
    let config = config();
    let build = config.job("build").unwrap();
    assert_eq!(
        plan(build, &config, &BTreeMap::new()),
        Err(PlanError::NoVersion {
            step: "repo".into()
        })
    );
    assert_eq!(
        plan(build, &Config::default(), &versions())
            .unwrap_err()
            .to_string(),
        "step 'repo' uses the resource 'repo', which the pipeline does not have"
    );
}

#[test]
fn inputs_and_outputs() {
    let config = config();
    let build = config.job("build").unwrap();
    let input = |name: &str, trigger, version| JobInput {
        name: name.into(),
        resource: "repo".into(),
        passed: vec![],
        trigger,
        version,
    };
    assert_eq!(
        inputs(build),
        [
            input("repo", true, VersionSpec::Every),
            input(
                "same",
                false,
                VersionSpec::Pinned(Version::from([("ref", "1")]))
            ),
        ]
    );
    let ship = config.job("ship").unwrap();
    assert_eq!(inputs(ship)[0].version, VersionSpec::Latest);
    let passed = config.passed_jobs(&inputs(ship)[0].passed);
    assert_eq!(
        passed
            .iter()
            .map(|job| job.name.as_str())
            .collect::<Vec<_>>(),
        ["build"]
    );
    let output = |name: &str| JobOutput {
        name: name.into(),
        resource: "out".into(),
    };
    assert_eq!(outputs(ship), [output("out"), output("again")]);
}

#[test]
fn derived_settings() {
    let config = config();
    assert_eq!(
        config.job("build").unwrap().max_in_flight(),
        Some(1),
        "serial groups win"
    );
    let every = config.resource("repo").unwrap().check_interval();
    assert_eq!(
        every,
        Some(CheckEvery::Interval(std::time::Duration::from_secs(60)))
    );
    assert_eq!(config.resource("out").unwrap().check_interval(), None);
    assert!(config.job("nope").is_none() && config.resource("nope").is_none());
}

#[test]
fn odd_names_and_old_fields_are_warnings() {
    let text = "resources: [{name: R, type: mock}]\njobs: [{name: 1, build_logs_to_retain: 3, plan: [{get: a b, resource: R}]}]";
    let warnings: Vec<_> = load(text)
        .unwrap()
        .warnings
        .into_iter()
        .map(|w| (w.type_, w.message))
        .collect();
    let expected = [
        (
            "invalid_identifier",
            "resources.R: 'R' is not a valid identifier: must start with a lowercase letter or a number",
        ),
        (
            "invalid_identifier",
            "jobs.1: '1' is not a valid identifier: cannot be just numbers",
        ),
        (
            "deprecated_field",
            "jobs.1.build_logs_to_retain is deprecated. Use build_log_retention instead.",
        ),
        (
            "invalid_identifier",
            "jobs.1.plan.do[0].get(a b): 'a b' is not a valid identifier: illegal character ' '",
        ),
    ];
    assert_eq!(
        warnings,
        expected.map(|(type_, message)| (type_.to_owned(), message.to_owned()))
    );
}

#[test]
fn task_files_are_read_like_inline_configs() {
    let task = load_task("platform: linux\nparams: {A: 1}\nrun: {path: ./x, args: ['1.0']}\n");
    let task = task.unwrap().config;
    assert_eq!(task.params["A"], "1");
    assert_eq!(task.run.args, ["1.0"]);
}

#[test]
fn numbers_from_variables_are_text_in_a_filled_task() {
    let text = "{platform: linux, run: {path: ./x, args: [8080, true]}}";
    assert_eq!(
        load_filled_task(text).unwrap().config.run.args,
        ["8080", "true"]
    );
    assert!(load_task(text).is_err());
}

#[test]
fn passed_patterns_are_not_those_of_groups() {
    let text = "resources: [{name: r, type: mock}]\n\
                groups: [{name: g, jobs: ['{ab,cd}', '[!ac]*']}]\n\
                jobs:\n- {name: ab, plan: [{get: r}]}\n- {name: cd, plan: [{get: r}]}\n\
                - {name: end, plan: [{get: r, passed: ['[^ae]*']}]}";
    let config = load(text).unwrap().config;
    let passed = config.passed_jobs(&inputs(&config.jobs[2])[0].passed);
    let names: Vec<&str> = passed.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["cd"]);
    let grouped = config.job_outlines();
    assert!(grouped.iter().all(|job| job.groups == ["g"]), "{grouped:?}");
}

/// A pipeline that only pulls images of `docker-image` runs, as those of `registry-image`.
#[test]
fn checks_and_gets_of_docker_image_mean_registry_image() {
    let text = "resource_types: [{name: mine, type: docker-image, source: {repository: type}}]\n\
                resources:\n- {name: base, type: docker-image, source: {repository: base, tag: 3}}\n\
                - {name: other, type: mine}\n\
                jobs: [{name: j, plan: [{get: base}, {get: other}, {put: base}]}]";
    let config = load(text).unwrap().config;
    let version = Version::from([("digest", "sha256:1")]);
    let versions = ["base", "other"].map(|name| (name.to_owned(), version.clone()));
    let planned = plan(&config.jobs[0], &config, &versions.into()).unwrap();
    let planned = serde_json::to_value(planned).unwrap();
    let steps = &planned["do"];
    let base = json!({"repository": "base", "tag": "3"});
    let get = &steps[0]["get"];
    assert_eq!(
        (&get["type"], &get["source"]),
        (&json!("registry-image"), &base)
    );
    let image = &steps[1]["get"]["image"];
    assert_eq!(image["base_type"], "registry-image");
    for fetched in [&image["check_plan"]["check"], &image["get_plan"]["get"]] {
        assert_eq!(fetched["type"], "registry-image");
        assert_eq!(
            fetched["source"],
            json!({"repository": "type", "tag": "latest"})
        );
    }
    // A put needs Docker, and says so; what it made could be got.
    let put = &steps[2]["on_success"];
    assert_eq!(put["step"]["put"]["type"], "docker-image");
    assert_eq!(put["on_success"]["get"]["type"], "registry-image");

    let check = check_plan(
        PlanId::new("1"),
        &config.resources[0],
        &config,
        CheckOptions::default(),
    );
    let check = serde_json::to_value(check.unwrap()).unwrap();
    assert_eq!(
        (&check["check"]["type"], &check["check"]["source"]),
        (&json!("registry-image"), &base)
    );
    let mut resolved = config.clone();
    resolved.resolve_base_types();
    assert_eq!(resolved.resources[0].type_, "registry-image");
    assert_eq!(resolved.resources[1], config.resources[1]);

    let image = json!({"type": "docker-image", "source": {"repository": "a"}, "name": "image"});
    let image = serde_json::from_value(image).unwrap();
    let (check, get) = image_plans(
        &PlanId::new("1"),
        &image,
        &config.resource_types,
        &[],
        false,
    )
    .unwrap();
    let plans = serde_json::to_value((check, get)).unwrap();
    assert_eq!(plans[0]["check"]["type"], "registry-image");
    assert_eq!(
        plans[1]["get"]["source"],
        json!({"repository": "a", "tag": "latest"})
    );
}
