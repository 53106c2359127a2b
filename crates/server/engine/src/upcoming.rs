//! The images that steps of a build will want: those that its plan names by itself, before any step
//! has run.
//!
//! Only a hint, for runtimes that can have them fetched meanwhile. What needs a login, a variable
//! or a look at all tags is left out: the step itself asks for it in its time.

use std::collections::BTreeSet;

use airside_model::{Plan, PlanNode, Version, plan::TypeImage};
use serde_json::{Map, Value};

/// Type of images in registries, as plans name it.
const TYPE: &str = "registry-image";
/// Fields of a source that make an image more than its name.
const MORE: [&str; 8] = [
    "username",
    "password",
    "aws_access_key_id",
    "aws_role_arn",
    "tag_regex",
    "semver_constraint",
    "variant",
    "registry_mirror",
];

/// Each once, in an order that stays.
pub(crate) fn images(plan: &Plan) -> Vec<String> {
    let mut found = BTreeSet::new();
    plan.visit(&mut |plan| found.extend(of_node(&plan.node)));
    found.into_iter().collect()
}

fn of_node(node: &PlanNode) -> Option<String> {
    match node {
        PlanNode::Task(task) if task.image.is_empty() => {
            let image = task.config.as_ref()?.image_resource.as_ref()?;
            name(&image.type_, image.source.as_ref()?, image.version.as_ref())
        }
        PlanNode::Get(get) => of_type(&get.image),
        PlanNode::Put(put) => of_type(&put.image),
        PlanNode::Check(check) => of_type(&check.image),
        _ => None,
    }
}

/// Returns the image that a custom resource type runs in.
fn of_type(image: &TypeImage) -> Option<String> {
    match &image.get_plan.as_ref()?.node {
        PlanNode::Get(get) => name(&get.type_, &get.source, get.version.as_ref()),
        _ => None,
    }
}

fn name(type_: &str, source: &Map<String, Value>, version: Option<&Version>) -> Option<String> {
    if type_ != TYPE || MORE.iter().any(|key| source.contains_key(*key)) {
        return None;
    }
    let text = |key: &str| match source.get(key) {
        Some(Value::String(text)) if !text.contains("((") => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let repository = text("repository")?;
    if let Some(digest) = version.and_then(|version| version.0.get("digest")) {
        return Some(format!("{repository}@{digest}"));
    }
    if source.contains_key("tag") {
        Some(format!("{repository}:{}", text("tag")?))
    } else {
        Some(format!("{repository}:latest"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(source: &Value) -> Value {
        json!({"id": "t", "task": {"name": "t", "config": {"platform": "linux",
            "image_resource": {"type": "registry-image", "source": source}, "run": {"path": "true"}}}})
    }

    fn found(plan: Value) -> Vec<String> {
        images(&serde_json::from_value(plan).unwrap())
    }

    #[test]
    fn images_of_tasks_and_types_are_found_once() {
        let typed = json!({"id": "g", "get": {"name": "g", "type": "mine", "source": {}, "image": {
            "base_type": "mine", "get_plan": {"id": "i", "get": {"name": "mine", "type": "registry-image",
                "source": {"repository": "types/mine"}}}}}});
        // An image that is fetched as an artifact is not one that something runs in.
        let fetched = json!({"id": "f", "get": {"name": "f", "type": "registry-image", "source": {"repository": "art"}}});
        let plan = json!({"id": "1", "do": [
            fetched,
            typed,
            task(&json!({"repository": "app", "tag": "1"})),
            {"id": "2", "in_parallel": {"steps": [task(&json!({"repository": "app", "tag": "1"})), task(&json!({"repository": "b", "tag": 2}))]}},
        ]});
        assert_eq!(found(plan), ["app:1", "b:2", "types/mine:latest"]);
    }

    #[test]
    fn what_is_not_plain_is_left_to_its_step() {
        for source in [
            json!({"repository": "((name))"}),
            json!({"repository": "a", "tag": "((tag))"}),
            json!({"repository": "a", "username": "u", "password": "p"}),
            json!({"repository": "a", "semver_constraint": "1.x"}),
            json!({"tag": "1"}),
        ] {
            assert_eq!(found(task(&source)), Vec::<String>::new(), "{source}");
        }
        let host = json!({"id": "t", "task": {"name": "t", "config": {"platform": "linux",
            "image_resource": {"type": "host", "source": {}}, "run": {"path": "true"}}}});
        assert_eq!(found(host), Vec::<String>::new());
    }

    #[test]
    fn a_version_says_more_than_a_tag() {
        let mut plan = task(&json!({"repository": "app", "tag": "1"}));
        plan["task"]["config"]["image_resource"]["version"] = json!({"digest": "sha256:1"});
        assert_eq!(found(plan), ["app@sha256:1"]);
    }
}
