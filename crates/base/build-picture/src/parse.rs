//! The public plan as nodes. A part that cannot be read is left out.

use airside_model::Version;
use serde_json::{Map, Value};

use crate::{
    StepFacts,
    node::{HookKind, PictureKind, PictureNode},
    picture::BuildPicture,
};

/// Keys of nodes that run something themselves.
const STEPS: [&str; 9] = [
    "get",
    "put",
    "task",
    "check",
    "run",
    "set_pipeline",
    "load_var",
    "artifact_input",
    "artifact_output",
];

/// Keys of plans that fetch the image of a step's resource type.
const IMAGE_PLANS: [&str; 2] = ["image_check_plan", "image_get_plan"];

impl BuildPicture {
    /// Adds the nodes of a public plan, and returns the place of its outermost.
    pub(crate) fn add_plan(&mut self, plan: &Value) -> Option<usize> {
        let fields = plan.as_object()?;
        let id = text(fields, "id");
        let (key, node) = fields.iter().find(|(key, _)| is_kind(key))?;
        let place = self.push(PictureNode {
            id,
            kind: kind_of(key, node)?,
            name: name_of(key, node),
            children: Vec::new(),
            images: Vec::new(),
            values: Vec::new(),
            planned: node
                .get("version")
                .and_then(|version| serde_json::from_value::<Version>(version.clone()).ok()),
            facts: StepFacts::default(),
        });
        let children: Vec<&Value> = match (&self.node(place).kind, node) {
            (PictureKind::Do | PictureKind::Retry, Value::Array(steps)) => steps.iter().collect(),
            (PictureKind::InParallel, node) => list(node, "steps"),
            (PictureKind::Hook(hook), node) => [node.get("step"), node.get(hook.name())]
                .into_iter()
                .flatten()
                .collect(),
            (PictureKind::Try | PictureKind::Timeout(_), node) => {
                node.get("step").into_iter().collect()
            }
            _ => Vec::new(),
        };
        let children = children
            .into_iter()
            .filter_map(|child| self.add_plan(child));
        let children = children.collect();
        let images = IMAGE_PLANS.into_iter().filter_map(|key| node.get(key));
        let images = images.filter_map(|plan| self.add_plan(plan)).collect();
        let added = self.node_mut(place);
        (added.children, added.images) = (children, images);
        Some(place)
    }
}

fn is_kind(key: &str) -> bool {
    let combines = ["do", "in_parallel", "across", "try", "timeout", "retry"];
    STEPS.contains(&key) || combines.contains(&key) || hook(key).is_some()
}

fn hook(key: &str) -> Option<HookKind> {
    HookKind::ALL.into_iter().find(|hook| hook.name() == key)
}

fn kind_of(key: &str, node: &Value) -> Option<PictureKind> {
    if let Some(name) = STEPS.into_iter().find(|name| *name == key) {
        return Some(PictureKind::Step(name));
    }
    if let Some(hook) = hook(key) {
        return Some(PictureKind::Hook(hook));
    }
    Some(match key {
        "do" => PictureKind::Do,
        "in_parallel" => PictureKind::InParallel,
        "across" => {
            let vars = list(node, "vars");
            let names = vars
                .iter()
                .filter_map(|var| Some(var.get("name")?.as_str()?.to_owned()));
            PictureKind::Across(names.collect())
        }
        "try" => PictureKind::Try,
        "timeout" => {
            let duration = node.get("duration").and_then(Value::as_str);
            PictureKind::Timeout(duration.unwrap_or_default().to_owned())
        }
        "retry" => PictureKind::Retry,
        _ => return None,
    })
}

/// Returns the name of a step; a prototype's run is named by its message.
fn name_of(key: &str, node: &Value) -> String {
    let Some(fields) = node.as_object() else {
        return String::new();
    };
    match key {
        "run" => text(fields, "message"),
        _ => text(fields, "name"),
    }
}

fn list<'a>(node: &'a Value, key: &str) -> Vec<&'a Value> {
    let items = node.get(key).and_then(Value::as_array);
    items
        .map(|items| items.iter().collect())
        .unwrap_or_default()
}

fn text(fields: &Map<String, Value>, key: &str) -> String {
    let text = fields.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
