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
                        inner if key == "image" => self.learn(inner, &format!("{suffix} image")),
                        inner => self.learn(inner, suffix),
                    }
                }
            }
            _ => {}
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
    fn substeps_show_their_values() {
        let mut names = Names::default();
        names.learn_substeps(
            &json!([{"values": ["a", 1], "step": {"id": "1/0", "task": {"name": "t"}}}]),
        );
        assert_eq!(names.get("1/0").unwrap().name, "t (a, 1)");
    }
}
