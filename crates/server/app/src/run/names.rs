//! Names of the nodes of a build's plan, as people know their steps.

use std::collections::HashMap;

use serde_json::Value;

/// A step as people know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// `get`, `task` and the like.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// Resource of a get or put.
    pub(crate) resource: Option<String>,
    /// True if the step only fetches another step's image.
    pub(crate) of_image: bool,
}

/// The steps of a build by the ids of their nodes. Some come to be only while it runs.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, Step>);

/// The nodes that are steps, as a public plan has them.
const KINDS: [&str; 8] = [
    "get",
    "put",
    "task",
    "check",
    "run",
    "set_pipeline",
    "load_var",
    "artifact_input",
];

impl Names {
    pub(crate) fn get(&self, id: &str) -> Option<&Step> {
        self.0.get(id)
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.0.values()
    }

    /// Learns the names in a public plan; `suffix` tells those apart that have the same.
    pub(crate) fn learn(&mut self, plan: &Value, suffix: &str) {
        match plan {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item, suffix)),
            Value::Object(node) => {
                let id = node.get("id").and_then(Value::as_str);
                for (key, inner) in node {
                    let kind = KINDS.iter().find(|kind| *kind == key);
                    if let (Some(id), Some(kind)) = (id, kind) {
                        self.0.insert(id.to_owned(), step(kind, inner, suffix));
                    }
                    match inner {
                        Value::Array(attempts) if key == "retry" => {
                            for (number, attempt) in (1..).zip(attempts) {
                                self.learn(attempt, &format!("{suffix} #{number}"));
                            }
                        }
                        // Of a resource type: named after it, and not to be taken for its steps.
                        inner if key == "image" => self.learn(inner, &format!("{suffix}{IMAGE}")),
                        inner if key == "on_success" && is_get_of_put(inner) => {
                            self.learn(&inner["step"], suffix);
                            self.learn(&inner["on_success"], &format!("{suffix}{AFTER_PUT}"));
                        }
                        inner => self.learn(inner, suffix),
                    }
                }
            }
            _ => {}
        }
    }

    /// Learns the steps that fetch the image of the step with this id: they are named after it.
    pub(crate) fn learn_image(&mut self, id: &str, plan: &Value) {
        let owner = self.0.get(id).map(|step| step.name.clone());
        let mut names = Self::default();
        names.learn(plan, IMAGE);
        for (id, mut step) in names.0 {
            // The plan calls the image of a task `image`, whatever the task.
            if let Some(owner) = &owner
                && step.name == format!("image{IMAGE}")
            {
                step.name = format!("{owner}{IMAGE}");
            }
            self.0.insert(id, step);
        }
    }

    /// Learns the substeps of an `across` from its event.
    pub(crate) fn learn_substeps(&mut self, substeps: &Value) {
        for substep in substeps.as_array().into_iter().flatten() {
            let values = substep["values"].as_array().into_iter().flatten();
            let shown: Vec<String> = values
                .map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                })
                .collect();
            self.learn(&substep["step"], &format!(" ({})", shown.join(", ")));
        }
    }
}

/// The end of the name of the get that follows a put.
const AFTER_PUT: &str = " (after put)";

/// Returns the name of the get that follows a put.
pub(crate) fn get_of_put(put: &str) -> String {
    format!("{put}{AFTER_PUT}")
}

/// The end of the name of a step that fetches an image.
const IMAGE: &str = " image";

/// Returns true if a node is a put with the get that comes after every put by itself.
fn is_get_of_put(node: &Value) -> bool {
    let (put, get) = (&node["step"]["put"], &node["on_success"]["get"]);
    put["name"].is_string() && put["name"] == get["name"] && get.get("version").is_none()
}

fn step(kind: &'static str, node: &Value, suffix: &str) -> Step {
    let text = |key: &str| node.get(key).and_then(Value::as_str);
    let name = text("name")
        .filter(|name| !name.is_empty())
        .or_else(|| text("message"))
        .unwrap_or(kind);
    Step {
        kind,
        name: format!("{name}{suffix}"),
        resource: text("resource").map(str::to_owned),
        of_image: suffix.contains(IMAGE),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learnt(plan: Value) -> Vec<(String, String)> {
        let mut names = Names::default();
        names.learn(&plan, "");
        let mut found: Vec<_> = names
            .0
            .into_iter()
            .map(|(id, step)| (id, format!("{} {}", step.kind, step.name)))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn steps_are_found_wherever_they_stand() {
        let plan = json!({"id": "9", "ensure": {
            "step": {"id": "8", "do": [
                {"id": "1", "get": {"name": "src", "resource": "repo", "type": "git"}},
                {"id": "4", "retry": [
                    {"id": "2", "task": {"name": "unit"}},
                    {"id": "3", "task": {"name": "unit"}},
                ]},
            ]},
            "ensure": {"id": "7", "run": {"message": "hi", "type": "p"}},
        }});
        let expected = [
            ("1", "get src"),
            ("2", "task unit #1"),
            ("3", "task unit #2"),
            ("7", "run hi"),
        ];
        assert_eq!(
            learnt(plan),
            expected.map(|(id, name)| (id.to_owned(), name.to_owned()))
        );
    }

    #[test]
    fn what_fetches_an_image_is_named_after_its_step() {
        let mut names = Names::default();
        names.learn(&json!({"id": "1", "task": {"name": "unit"}}), "");
        let get = json!({"id": "1/image-get", "get": {"name": "image", "type": "registry-image"}});
        names.learn_image("1", &get);
        let step = names.get("1/image-get").unwrap();
        assert!(step.name == "unit image" && step.of_image, "{step:?}");
        assert!(!names.get("1").unwrap().of_image);
    }

    #[test]
    fn a_put_and_its_get_have_two_names() {
        let put = json!({"id": "1", "put": {"name": "src", "resource": "src"}});
        let get = json!({"id": "2", "get": {"name": "src", "resource": "src"}});
        let node = json!({"id": "3", "on_success": {"step": put, "on_success": get}});
        let found = learnt(node.clone()).into_iter().map(|(_, name)| name);
        let found: Vec<String> = found.collect();
        assert_eq!(found, ["put src", "get src (after put)"]);
        let mut own = node;
        own["on_success"]["on_success"]["get"]["version"] = json!({"v": "1"});
        assert_eq!(learnt(own)[1].1, "get src");
    }

    #[test]
    fn substeps_show_their_values() {
        let mut names = Names::default();
        names.learn_substeps(
            &json!([{"values": ["a", 1], "step": {"id": "1/0", "task": {"name": "t"}}}]),
        );
        assert_eq!(names.get("1/0").unwrap().name, "t (a, 1)");
    }
}
