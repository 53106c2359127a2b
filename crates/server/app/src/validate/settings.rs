//! Warnings about settings of native types: the sources of resources and images, the params of gets
//! and puts. The types' own readers say what is wrong; values with variables are left alone.

use std::collections::{HashMap, HashSet};

use airside_config::{Warning, nearest, pulled_source, registry_type};
use airside_resource_types::{SettingsMistake, SettingsPart, inspect_settings, is_native};
use airside_yaml::{Node, Span, Value};
use serde_json::{Map, Value as Json};

use super::traps;

/// The warnings about a pipeline. A resource type that the pipeline makes itself is left alone.
pub(super) fn pipeline_warnings(text: &str, node: &Node) -> Vec<Warning> {
    let made = items(node, "resource_types").filter_map(|made| scalar(made, "name"));
    let resources = items(node, "resources");
    let mut inspector = Inspector {
        text,
        made: made.collect(),
        resources: resources
            .filter_map(|item| Some((scalar(item, "name")?, scalar(item, "type")?)))
            .collect(),
        seen: HashSet::new(),
        warnings: Vec::new(),
    };
    for section in ["resources", "resource_types", "prototypes"] {
        for item in items(node, section) {
            let name = scalar(item, "name").unwrap_or_default();
            let type_ = scalar(item, "type").unwrap_or_default();
            // A type may have the name of the type that it is made from.
            let is_own = section != "resources" && type_ == name;
            if is_own || inspector.is_not_made(&type_) {
                inspector.source(item, &type_, &format!("{section}.{name}"));
            }
        }
    }
    for job in items(node, "jobs") {
        let plan = format!("jobs.{}.plan", scalar(job, "name").unwrap_or_default());
        inspector.steps(job.get("plan"), &format!("{plan}.do"));
        inspector.hooks(job, &plan);
    }
    inspector.warnings
}

/// The warnings about a task file.
pub(super) fn task_warnings(text: &str, node: &Node) -> Vec<Warning> {
    let mut inspector = Inspector {
        text,
        made: HashSet::new(),
        resources: HashMap::new(),
        seen: HashSet::new(),
        warnings: Vec::new(),
    };
    inspector.image(node, "image_resource");
    inspector.warnings
}

struct Inspector<'a> {
    text: &'a str,
    /// Names of the types that the pipeline makes.
    made: HashSet<String>,
    /// Types of the resources, by name.
    resources: HashMap<String, String>,
    /// Places and messages of warnings: what is behind an anchor is met at each alias.
    seen: HashSet<(Option<usize>, String)>,
    warnings: Vec<Warning>,
}

/// The number of keys of one map that are looked at for traps.
const MAX_KEYS: usize = 100;

const HOOKS: [&str; 5] = ["on_success", "on_failure", "on_abort", "on_error", "ensure"];

impl Inspector<'_> {
    fn is_not_made(&self, type_: &str) -> bool {
        !self.made.contains(type_)
    }

    fn steps(&mut self, list: Option<&Node>, path: &str) {
        let Some(Value::Seq(steps)) = list.map(|list| &list.value) else {
            return;
        };
        for (index, step) in steps.iter().enumerate() {
            self.step(step, &format!("{path}[{index}]"));
        }
    }

    fn hooks(&mut self, node: &Node, path: &str) {
        for hook in HOOKS {
            if let Some(step) = node.get(hook) {
                self.step(step, &format!("{path}.{hook}"));
            }
        }
    }

    fn step(&mut self, step: &Node, around: &str) {
        let path = match step.get("across") {
            Some(_) => format!("{around}.across"),
            None => around.to_owned(),
        };
        if let Some(name) = scalar(step, "get") {
            let path = format!("{path}.get({name})");
            self.params(step, &name, "params", SettingsPart::GetParams, &path);
        } else if let Some(name) = scalar(step, "put") {
            let path = format!("{path}.put({name})");
            self.params(step, &name, "params", SettingsPart::PutParams, &path);
            self.params(step, &name, "get_params", SettingsPart::GetParams, &path);
        } else if let Some(name) = scalar(step, "task") {
            if let Some(config) = step.get("config") {
                self.image(
                    config,
                    &format!("{path}.task({name}).config.image_resource"),
                );
            }
        } else if let Some(inner) = step.get("try") {
            self.step(inner, &format!("{path}.try"));
        } else if let Some(list) = step.get("do") {
            self.steps(Some(list), &format!("{path}.do"));
        } else if let Some(branches) = step.get("in_parallel") {
            let list = branches.get("steps").unwrap_or(branches);
            self.steps(Some(list), &format!("{path}.in_parallel.steps"));
        }
        self.hooks(step, around);
    }

    fn params(&mut self, step: &Node, name: &str, key: &str, part: SettingsPart, path: &str) {
        let resource = scalar(step, "resource").unwrap_or_else(|| name.to_owned());
        let Some(type_) = self.resources.get(&resource).cloned() else {
            return;
        };
        // A put to such a type needs the type itself, which another warning says.
        if step.get("put").is_some() && registry_type(&type_).is_some() {
            return;
        }
        if self.is_not_made(&type_) && step.get(key).is_some() {
            let (type_, _) = pulled_source(&type_, Map::new());
            self.inspect(step, (key, part), &type_, path);
        }
    }

    /// The image of a task, which comes from a resource type too.
    fn image(&mut self, config: &Node, path: &str) {
        let Some(image) = config.get("image_resource") else {
            return;
        };
        let Some(type_) = scalar(image, "type").filter(|type_| self.is_not_made(type_)) else {
            return;
        };
        self.source(image, &type_, path);
        if image.get("params").is_some() {
            let (type_, _) = pulled_source(&type_, Map::new());
            self.inspect(image, ("params", SettingsPart::GetParams), &type_, path);
        }
    }

    fn source(&mut self, item: &Node, type_: &str, path: &str) {
        self.inspect(item, ("source", SettingsPart::Source), type_, path);
    }

    /// Warns of the mistakes in one map of settings of `item`.
    fn inspect(&mut self, item: &Node, (key, part): (&str, SettingsPart), type_: &str, path: &str) {
        let map = item.get(key);
        let settings = match map.map(Node::to_json) {
            None | Some(Ok(Json::Null)) => Map::new(),
            Some(Ok(Json::Object(settings))) => settings,
            // It has been complained about.
            Some(_) => return,
        };
        self.traps(map, part, type_, &settings);
        let (type_, settings) = match part {
            SettingsPart::Source => pulled_source(type_, settings),
            SettingsPart::GetParams | SettingsPart::PutParams => (type_.to_owned(), settings),
        };
        let kind = match part {
            SettingsPart::Source => "source",
            SettingsPart::GetParams | SettingsPart::PutParams => "params",
        };
        for mistake in inspect_settings(&type_, part, &settings) {
            let own = mistake.key.as_deref();
            let span = own.and_then(|own| key_span(map?, own));
            let span = span.or_else(|| key_span(item, key));
            let span = span.or_else(|| item.get("type").map(|type_| type_.span));
            let message = format!("{path}: {}{}", mistake.words, hint(&mistake));
            self.warn(kind, span, message);
        }
    }

    /// Warns of words such as `on` where the type would take the text as well as the boolean that
    /// YAML makes of it.
    fn traps(
        &mut self,
        map: Option<&Node>,
        part: SettingsPart,
        type_: &str,
        settings: &Map<String, Json>,
    ) {
        let Some(Value::Map(entries)) = map.map(|map| &map.value) else {
            return;
        };
        if !is_native(type_) {
            return;
        }
        // No native type has more keys.
        for (key, value) in entries.iter().take(MAX_KEYS) {
            let Some((written, read)) = traps::word(self.text, value) else {
                continue;
            };
            let mut as_text = settings.clone();
            as_text.insert(key.text.clone(), Json::from(written));
            let mistakes = inspect_settings(type_, part, &as_text);
            let refused = |mistake: &SettingsMistake| mistake.key.as_ref() == Some(&key.text);
            if !mistakes.iter().any(refused) {
                let message = traps::message(written, read);
                self.warn(traps::TYPE, Some(value.span), message);
            }
        }
    }

    fn warn(&mut self, type_: &str, span: Option<Span>, message: String) {
        let place = span.map(|span| span.start.offset);
        if self.seen.insert((place, message.clone())) {
            self.warnings.push(Warning::new(type_, message, span));
        }
    }
}

fn hint(mistake: &SettingsMistake) -> String {
    let key = mistake.key.as_deref().unwrap_or_default();
    let known = mistake.known.unwrap_or_default().iter().copied();
    let meant = nearest(key, known);
    meant.map_or_else(String::new, |meant| format!(" (did you mean '{meant}'?)"))
}

fn items<'n>(node: &'n Node, section: &str) -> impl Iterator<Item = &'n Node> {
    let list = match node.get(section).map(|list| &list.value) {
        Some(Value::Seq(items)) => items.as_slice(),
        _ => &[],
    };
    list.iter()
}

fn scalar(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.value.scalar_text()
}

fn key_span(map: &Node, key: &str) -> Option<Span> {
    match &map.value {
        Value::Map(entries) => {
            let mut keys = entries.iter().map(|(key, _)| key);
            keys.find(|own| own.text == key).map(|own| own.span)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
