//! What of a plan the API shows: names and kinds, never sources or params.

use serde_json::{Map, Value, json};

use crate::{Plan, PlanNode};

/// The plan as `fly` and the web page may see it.
pub fn public_plan(plan: &Plan) -> Value {
    let mut shown = Map::new();
    shown.insert("id".into(), json!(plan.id));
    let (key, node) = match &plan.node {
        PlanNode::Get(get) => {
            let mut node = named(&get.name, &get.type_, &get.resource);
            if let Some(version) = &get.version {
                node.insert("version".into(), json!(version));
            }
            ("get", Value::Object(node))
        }
        PlanNode::Put(put) => (
            "put",
            Value::Object(named(&put.name, &put.type_, &put.resource)),
        ),
        PlanNode::Task(task) => (
            "task",
            json!({"name": task.name, "privileged": task.privileged, "hermetic": task.hermetic}),
        ),
        PlanNode::Do(steps) => ("do", steps.iter().map(public_plan).collect()),
        PlanNode::InParallel(parallel) => {
            let mut node = Map::new();
            node.insert(
                "steps".into(),
                parallel.steps.iter().map(public_plan).collect(),
            );
            if let Some(limit) = parallel.limit {
                node.insert("limit".into(), json!(limit));
            }
            if parallel.fail_fast {
                node.insert("fail_fast".into(), json!(true));
            }
            ("in_parallel", Value::Object(node))
        }
        PlanNode::OnSuccess(hook) => (
            "on_success",
            json!({"step": public_plan(&hook.step), "on_success": public_plan(&hook.on_success)}),
        ),
    };
    shown.insert(key.into(), node);
    Value::Object(shown)
}

fn named(name: &str, type_: &str, resource: &str) -> Map<String, Value> {
    let mut node = Map::new();
    node.insert("name".into(), json!(name));
    node.insert("type".into(), json!(type_));
    if !resource.is_empty() {
        node.insert("resource".into(), json!(resource));
    }
    node
}
