//! Plans in the shape that Concourse and `fly execute` write.

use serde_json::{Value, json};

use super::*;
use crate::public_plan::public_plan;

#[track_caller]
fn round_trips(text: Value) -> Plan {
    let plan: Plan = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(&plan).unwrap(), text);
    plan
}

#[test]
fn plans_round_trip_in_concourses_shape() {
    round_trips(json!({
        "id": "3",
        "on_success": {
            "step": {"id": "1", "put": {
                "name": "out", "type": "mock", "source": {}, "image": {"base_type": "mock"},
                "params": {"version": "1"}, "inputs": "all", "timeout": "1m",
                "expose_build_created_by": true,
            }},
            "on_success": {"id": "2", "attempts": [1, 2], "get": {
                "name": "out", "type": "mock", "source": {}, "image": {}, "version_from": "1",
            }},
        },
    }));
    let named: PutInputs = serde_json::from_str(r#"["a"]"#).unwrap();
    assert_eq!(named, PutInputs::Named(vec!["a".into()]));
    assert!(serde_json::from_str::<PutInputs>(r#""some""#).is_err());
    assert!(serde_json::from_value::<Plan>(json!({"id": "1"})).is_err());
    assert!(serde_json::from_value::<MaxInFlight>(json!("some")).is_err());
}

fn step(id: &str) -> Value {
    json!({"id": id, "load_var": {"name": "v", "file": "a/b", "format": "json", "reveal": true}})
}

/// Every kind of node, each in the shape that Concourse gives it.
fn every_node() -> Value {
    json!({"id": "f", "do": [
        {"id": "1", "in_parallel": {"steps": [step("2")], "limit": 1, "fail_fast": true}},
        {"id": "3", "across": {
            "vars": [
                {"name": "a", "values": [1, "x"], "max_in_flight": "all"},
                {"name": "b", "values": "((.:list))", "max_in_flight": 2},
            ],
            "substep_template": "{}", "fail_fast": true,
        }},
        {"id": "4", "on_failure": {"step": step("5"), "on_failure": step("6")}},
        {"id": "7", "on_abort": {"step": step("8"), "on_abort": step("9")}},
        {"id": "a", "on_error": {"step": step("b"), "on_error": step("c")}},
        {"id": "d", "ensure": {"step": step("e"), "ensure": step("10")}},
        {"id": "11", "try": {"step": step("12")}},
        {"id": "13", "timeout": {"step": step("14"), "duration": "1h"}},
        {"id": "15", "retry": [step("16"), step("17")]},
        {"id": "18", "artifact_input": {"artifact_id": 3, "name": "in"}},
        {"id": "19", "artifact_output": {"name": "out"}},
        {"id": "1a", "run": {
            "message": "m", "type": "p", "object": {"k": 1}, "privileged": true, "timeout": "1s",
            "tags": ["t"], "container_limits": {"cpu": 1},
        }},
        {"id": "1b", "set_pipeline": {
            "name": "self", "file": "a/p.yml", "team": "t", "vars": {"x": 1},
            "var_files": ["a/v.yml"], "instance_vars": {"i": 1},
        }},
        {"id": "1c", "task": {
            "name": "t", "privileged": false, "hermetic": false, "config_path": "a/t.yml",
            "image": "i", "vars": {"v": 1}, "timeout": "1h", "check_skip_interval": true,
            "resource_types": [{"name": "n", "type": "t", "source": null}],
        }},
        {"id": "1d", "get": {
            "name": "g", "type": "custom", "source": {}, "version": {"v": "1"},
            "image": {
                "base_type": "mock", "privileged": true,
                "check_plan": {"id": "1d/image-check", "check": {
                    "name": "custom", "type": "mock", "source": {}, "image": {"base_type": "mock"},
                    "resource_type": "custom", "interval": "1m0s", "skip_interval": true,
                }},
                "get_plan": {"id": "1d/image-get", "get": {
                    "name": "custom", "type": "mock", "source": {}, "image": {"base_type": "mock"},
                    "version_from": "1d/image-check",
                }},
            },
        }},
    ]})
}

#[test]
fn every_node_round_trips() {
    round_trips(every_node());
}

#[test]
fn what_fly_execute_sends_is_read() {
    let plan: Plan = serde_json::from_value(json!({"id": "5", "do": [
        {"id": "2", "in_parallel": {"steps": [
            {"id": "1", "artifact_input": {"artifact_id": 7, "name": "src"}},
            {"id": "3", "get": {
                "name": "dep", "type": "mock", "source": null, "image": {}, "version": {"v": "1"},
            }},
        ]}},
        {"id": "4", "task": {
            "name": "one-off", "privileged": false, "hermetic": false, "resource_types": null,
            "config": {"platform": "linux", "image_resource": {"name": "", "type": "mock", "source": null}},
        }},
    ]}))
    .unwrap();
    let PlanNode::Do(steps) = plan.node else {
        panic!("a do")
    };
    assert!(matches!(&steps[1].node, PlanNode::Task(task) if task.config.is_some()));
}

#[test]
fn the_public_plan_keeps_names_and_hides_the_rest() {
    let public = public_plan(&round_trips(every_node()));
    let shown = json!({"name": "v"});
    let hook = |inner: &str, outer: &str, key: &str| json!({"step": {"id": inner, "load_var": shown}, key: {"id": outer, "load_var": shown}});
    assert_eq!(
        public["do"][0]["in_parallel"],
        json!({
            "steps": [{"id": "2", "load_var": shown}], "limit": 1, "fail_fast": true,
        })
    );
    assert_eq!(
        public["do"][1]["across"],
        json!({"vars": [{"name": "a"}, {"name": "b"}], "fail_fast": true})
    );
    assert_eq!(public["do"][2]["on_failure"], hook("5", "6", "on_failure"));
    assert_eq!(public["do"][3]["on_abort"], hook("8", "9", "on_abort"));
    assert_eq!(public["do"][4]["on_error"], hook("b", "c", "on_error"));
    assert_eq!(public["do"][5]["ensure"], hook("e", "10", "ensure"));
    assert_eq!(
        public["do"][6]["try"],
        json!({"step": {"id": "12", "load_var": shown}})
    );
    assert_eq!(
        public["do"][7]["timeout"],
        json!({"step": {"id": "14", "load_var": shown}, "duration": "1h"})
    );
    assert_eq!(
        public["do"][8]["retry"][1],
        json!({"id": "17", "load_var": shown})
    );
    assert_eq!(
        public["do"][9]["artifact_input"],
        json!({"artifact_id": 3, "name": "in"})
    );
    assert_eq!(public["do"][10]["artifact_output"], json!({"name": "out"}));
    assert_eq!(
        public["do"][11]["run"],
        json!({"message": "m", "type": "p", "privileged": true})
    );
    assert_eq!(
        public["do"][12]["set_pipeline"],
        json!({"name": "self", "team": "t", "instance_vars": {"i": 1}})
    );
    assert_eq!(
        public["do"][13]["task"],
        json!({"name": "t", "privileged": false, "hermetic": false})
    );
    assert_eq!(
        public["do"][14]["get"],
        json!({
            "name": "g", "type": "custom", "version": {"v": "1"},
            "image_get_plan": {"id": "1d/image-get", "get": {"name": "custom", "type": "mock"}},
            "image_check_plan": {"id": "1d/image-check", "check": {"name": "custom", "type": "mock"}},
        })
    );
}

#[test]
fn every_node_is_visited_once_outer_ones_first() {
    let mut plan = round_trips(every_node());
    let mut seen = Vec::new();
    plan.visit(&mut |node| seen.push(node.id.to_string()));
    let expected = "f 1 2 3 4 5 6 7 8 9 a b c d e 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d \
                    1d/image-check 1d/image-get";
    assert_eq!(seen.join(" "), expected);
    let mut number = 0;
    plan.visit_mut(&mut |node| {
        node.id = PlanId::new(number.to_string());
        number += 1;
    });
    let mut again = Vec::new();
    plan.visit(&mut |node| again.push(node.id.to_string()));
    assert_eq!(
        again,
        (0..seen.len()).map(|n| n.to_string()).collect::<Vec<_>>()
    );
}
