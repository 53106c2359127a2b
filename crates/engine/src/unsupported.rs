//! What may stand in a plan and cannot be run yet. Such a step errs with words instead of running as
//! if that were not there.

use airside_config::{Config, Resource};
use airside_model::{
    PlanNode,
    plan::{TaskPlan, TypeImage},
};
use serde_json::Value;

pub(crate) const NOT_YET: &str = "is not supported by this version of Airside";
const OWN_TYPE: &str = "a resource type of the pipeline's own";

/// Why a leaf cannot be run, if it cannot.
pub(crate) fn words(node: &PlanNode) -> Option<String> {
    let feature = match node {
        PlanNode::Get(get) => timeout(&get.timeout).or_else(|| image(&get.image)),
        PlanNode::Put(put) => timeout(&put.timeout).or_else(|| image(&put.image)),
        PlanNode::Task(task) => timeout(&task.timeout).or_else(|| task_feature(task)),
        // The interpreter says so of the node as a whole.
        _ => return None,
    };
    match feature {
        Some(feature) => Some(format!("{feature} {NOT_YET}")),
        None => variables(node),
    }
}

fn timeout(timeout: &str) -> Option<&'static str> {
    (!timeout.is_empty()).then_some("`timeout`")
}

fn image(image: &TypeImage) -> Option<&'static str> {
    image.get_plan.is_some().then_some(OWN_TYPE)
}

fn task_feature(task: &TaskPlan) -> Option<&'static str> {
    let no_program = task
        .config
        .as_ref()
        .is_some_and(|config| config.run.path.is_empty());
    [
        (!task.config_path.is_empty(), "a task's `file`"),
        (!task.image.is_empty(), "a task's `image`"),
        (!task.vars.is_empty(), "a task's `vars`"),
        (no_program, "a task without the `path` of an executable"),
    ]
    .into_iter()
    .find_map(|(used, feature)| used.then_some(feature))
}

/// Why a resource cannot be checked, if it cannot.
pub(crate) fn resource_words(config: &Config, resource: &Resource) -> Option<String> {
    if config.resource_type(&resource.type_).is_some() {
        return Some(format!("{OWN_TYPE} {NOT_YET}"));
    }
    let source = serde_json::to_value(&resource.source).ok()?;
    undefined(&source)
}

/// Variables that were given no value when the pipeline was set.
fn variables(node: &PlanNode) -> Option<String> {
    let mut value = serde_json::to_value(node).ok()?;
    // The task may not need them at all.
    if let Some(task) = value.get_mut("task").and_then(Value::as_object_mut) {
        task.remove("resource_types");
    }
    undefined(&value)
}

fn undefined(value: &Value) -> Option<String> {
    let names: Vec<String> = airside_vars::names_in(value).into_iter().collect();
    (!names.is_empty()).then(|| format!("undefined vars: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use airside_model::plan::{GetPlan, PutPlan};
    use serde_json::json;

    use super::*;

    fn node(value: serde_json::Value) -> PlanNode {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn each_feature_is_named() {
        let task = |value: serde_json::Value| {
            let mut task =
                json!({"name": "t", "config": {"platform": "linux", "run": {"path": "x"}}});
            task.as_object_mut()
                .unwrap()
                .extend(value.as_object().unwrap().clone());
            words(&node(json!({"task": task})))
        };
        assert_eq!(task(json!({})), None);
        for (value, feature) in [
            (json!({"timeout": "1m"}), "`timeout`"),
            (json!({"config_path": "a/b"}), "a task's `file`"),
            (json!({"image": "i"}), "a task's `image`"),
            (json!({"vars": {"a": 1}}), "a task's `vars`"),
            (
                json!({"config": {"platform": "linux"}}),
                "a task without the `path` of an executable",
            ),
        ] {
            assert_eq!(task(value), Some(format!("{feature} {NOT_YET}")));
        }
        let image = json!({"get_plan": {"id": "1", "artifact_output": {"name": "x"}}});
        for key in ["get", "put"] {
            let plain = json!({"name": "g", "type": "mock"});
            assert_eq!(words(&node(json!({key: plain}))), None);
            let custom = json!({"name": "g", "type": "mock", "image": image});
            assert_eq!(
                words(&node(json!({key: custom}))),
                Some(format!("a resource type of the pipeline's own {NOT_YET}"))
            );
        }
    }

    #[test]
    fn variables_without_values_are_named() {
        let get = PlanNode::Get(GetPlan {
            source: serde_json::from_value(json!({"b": "((b)) ((vault:a))", "c": "$((1 + 2))"}))
                .unwrap(),
            ..GetPlan::default()
        });
        assert_eq!(words(&get), Some("undefined vars: b, vault:a".to_owned()));
        assert_eq!(words(&PlanNode::Put(PutPlan::default())), None);
    }

    #[test]
    fn types_that_a_task_may_not_need_do_not_matter() {
        let types = json!([{"name": "t", "type": "mock", "source": {"a": "((b))"}}]);
        let config = json!({"platform": "linux", "run": {"path": "x"}});
        let task = json!({"name": "t", "config": config, "resource_types": types});
        assert_eq!(words(&node(json!({"task": task}))), None);
    }

    #[test]
    fn a_resource_needs_a_known_type_and_values() {
        let text = "resource_types: [{name: own, type: mock}]\nresources: [{name: a, type: own}, \
                    {name: b, type: mock, source: {k: ((v))}}, {name: c, type: mock}]\n\
                    jobs: [{name: j, plan: [{get: a}, {get: b}, {get: c}]}]";
        let config = airside_config::load(text).unwrap().config;
        let words = |name: &str| resource_words(&config, config.resource(name).unwrap());
        assert_eq!(words("a"), Some(format!("{OWN_TYPE} {NOT_YET}")));
        assert_eq!(words("b").as_deref(), Some("undefined vars: v"));
        assert_eq!(words("c"), None);
    }
}
