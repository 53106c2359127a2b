//! A pipeline with every field: its JSON, that it reads as itself again, and its plan.

use std::collections::BTreeMap;

use airside_config::{Config, PlanOptions, inputs, load, outputs, plan_with};
use airside_model::{PlanNode, Version};
use serde_json::{Value, json};

const PIPELINE: &str = include_str!("whole.yml");

fn config() -> Config {
    load(PIPELINE).expect("the pipeline is sound").config
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

#[test]
fn the_json_has_the_fields_that_were_written() {
    let json = serde_json::to_value(config()).unwrap();
    assert_eq!(
        json["var_sources"][0]["config"],
        json!({"vars": {"token": "secret", "num": 1}})
    );
    assert_eq!(
        json["resource_types"][1],
        json!({"name": "base", "type": "registry-image", "source": null, "check_every": "never"})
    );
    let plan = &json["jobs"][0]["plan"];
    assert_eq!(
        plan[3],
        json!({
            "task": "t-((.:os))", "file": "repo/task.yml", "image": "repo", "hermetic": true,
            "vars": {"v": "((vs:token))"}, "timeout": "((limit))",
            "across": [
                {"var": "os", "values": ["linux", "((darwin))"], "max_in_flight": "all"},
                {"var": "num", "values": "((.:list))", "max_in_flight": 3},
                {"var": "single"},
            ],
            "fail_fast": true, "attempts": 2,
            "on_success": {"try": {"put": "out"}},
            "ensure": {"in_parallel": {"steps": [{"put": "out", "resource": "out"}]}, "tags": ["x"]},
        })
    );
    assert_eq!(
        plan[8],
        json!({"task": "program-of-the-image", "config": {
            "platform": "linux", "image_resource": {"type": "registry-image", "source": null},
            "caches": [{"path": "c", "ttl": "1h"}],
        }})
    );
}

#[test]
fn hooks_have_inputs_and_outputs_too() {
    let config = config();
    let job = config.job("every-step").unwrap();
    let names: Vec<String> = inputs(job).into_iter().map(|input| input.name).collect();
    assert_eq!(names, ["repo", "again"]);
    assert_eq!(outputs(job).len(), 5);
}

fn planned() -> Value {
    let config = config();
    let versions = ["repo", "again"].map(|name| (name.to_owned(), Version::from([("ref", "1")])));
    let base = serde_json::from_value(json!({"mock": {"from": "base"}})).expect("maps");
    let options = PlanOptions {
        manually_triggered: true,
        base_defaults: base,
    };
    let job = config.job("every-step").expect("the job");
    let plan = plan_with(job, &config, &BTreeMap::from(versions), &options).expect("a plan");
    serde_json::to_value(plan).expect("a plan is JSON")
}

#[test]
fn a_jobs_hooks_are_around_its_plan_in_order() {
    let plan = planned();
    let inner = &plan["ensure"]["step"]["on_error"]["step"]["on_abort"]["step"]["on_failure"]["step"]
        ["on_success"]["step"];
    assert_eq!(inner["do"].as_array().unwrap().len(), 9);
    assert_eq!(plan["ensure"]["ensure"]["load_var"]["name"], "last");
}

fn steps() -> Vec<Value> {
    let mut plan = planned();
    for hook in ["ensure", "on_error", "on_abort", "on_failure", "on_success"] {
        plan = plan[hook]["step"].take();
    }
    plan["do"].as_array().expect("a list").clone()
}

#[test]
fn types_of_the_pipeline_are_fetched_by_plans_of_their_own() {
    let retry = &steps()[0]["retry"];
    assert_eq!(retry[1]["id"], "2", "each attempt is planned anew");
    let get = &retry[0]["get"];
    assert_eq!(get["timeout"], "1h");
    assert_eq!(
        get["source"],
        json!({"a": 1, "b": 3}),
        "over the defaults of the type"
    );
    let base = |prefix: &str| {
        json!({
            "base_type": "registry-image",
            "check_plan": {"id": format!("{prefix}/image-check"), "check": {
                "name": "base", "type": "registry-image", "source": {},
                "image": {"base_type": "registry-image"}, "resource_type": "base",
                "interval": "never", "tags": ["t"],
            }},
            "get_plan": {"id": format!("{prefix}/image-get"), "get": {
                "name": "base", "type": "registry-image", "source": {},
                "image": {"base_type": "registry-image"},
                "version_from": format!("{prefix}/image-check"), "tags": ["t"],
            }},
        })
    };
    assert_eq!(
        get["image"],
        json!({
            "base_type": "registry-image", "privileged": true,
            "check_plan": {"id": "1/image-check", "check": {
                "name": "custom", "type": "base", "source": {"repository": "((vs:token))"},
                "image": base("1/image-check"), "resource_type": "custom",
                "interval": "1m30s", "tags": ["t"],
            }},
            "get_plan": {"id": "1/image-get", "get": {
                "name": "custom", "type": "base", "source": {"repository": "((vs:token))"},
                "image": base("1/image-get"), "params": {"p": 1},
                "version_from": "1/image-check", "tags": ["t"],
            }},
        })
    );
    let put = &steps()[1]["put"];
    assert_eq!(put["expose_build_created_by"], true);
    let check = &put["image"]["check_plan"]["check"];
    assert_eq!(check["skip_interval"], true, "somebody wants it now");
    let base = &steps()[2]["on_success"]["step"]["put"];
    assert_eq!(base["source"], json!({"from": "base"}));
}

#[test]
fn across_keeps_its_step_as_a_template() {
    let steps = steps();
    let ensure = &steps[3]["ensure"];
    assert!(ensure["ensure"]["in_parallel"].is_object());
    let across = &ensure["step"]["on_success"]["step"]["across"];
    assert_eq!(
        across["vars"][1],
        json!({"name": "num", "values": "((.:list))", "max_in_flight": 3})
    );
    assert_eq!(across["fail_fast"], true);
    let template = across["substep_template"].as_str().unwrap();
    let template: airside_model::Plan = serde_json::from_str(template).unwrap();
    let PlanNode::Retry(attempts) = template.node else {
        panic!("attempts are inside across")
    };
    let PlanNode::Task(task) = &attempts[0].node else {
        panic!("a task")
    };
    assert_eq!(
        (task.name.as_str(), task.config_path.as_str()),
        ("t-((.:os))", "repo/task.yml")
    );
    assert_eq!(task.tags, ["job"]);
    assert_eq!(task.resource_types.len(), 2);
    assert!(task.check_skip_interval);
}

#[test]
fn the_other_steps() {
    let steps = steps();
    let set = &steps[4]["on_abort"]["step"]["retry"][1]["timeout"];
    assert_eq!(set["duration"], "1m");
    assert_eq!(
        set["step"]["set_pipeline"],
        json!({
            "name": "self", "file": "repo/p.yml", "team": "main", "vars": {"a": [1]},
            "var_files": ["repo/v.yml"], "instance_vars": {"branch": "x"},
        })
    );
    assert_eq!(
        steps[5]["load_var"],
        json!({"name": "v", "file": "repo/v.json", "format": "json", "reveal": true})
    );
    assert_eq!(
        steps[6]["run"],
        json!({
            "message": "message", "type": "proto", "object": {"x": 1, "w": 3, "z": 4},
            "privileged": true, "tags": ["r"], "container_limits": {"cpu": 1, "memory": 1024},
            "timeout": "1s",
        })
    );
    let tried = &steps[7]["on_error"]["step"]["on_failure"]["step"]["try"]["step"];
    assert_eq!(tried["timeout"]["duration"], "1m");
    assert!(tried["timeout"]["step"]["try"]["step"]["do"][0]["get"].is_object());
}
