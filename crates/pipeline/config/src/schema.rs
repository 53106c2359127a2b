//! JSON Schema (2020-12) for editors, made from the same tables that the reader goes by.
//!
//! It is a little more generous than the reader: any value may be a `((variable))`, since editors
//! see pipelines before variables are given.

use serde_json::{Map, Value, json};

use crate::shape::{Field, Kind, Shape};
use crate::steps::{CORES, across, modifiers};
use crate::{config, task_shape};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of pipelines.
pub fn pipeline_schema() -> Value {
    document("Airside pipeline", &config::SHAPE, true)
}

/// The schema of task files.
pub fn task_schema() -> Value {
    document("Airside task", &task_shape::TASK, false)
}

fn document(title: &str, root: &'static Shape, other_keys: bool) -> Value {
    let mut definitions = Definitions::default();
    let mut schema = definitions.object(&[root], other_keys);
    schema.insert("$schema".into(), json!(DRAFT));
    schema.insert("title".into(), json!(title));
    schema.insert("description".into(), json!(root.doc));
    schema.insert("$defs".into(), Value::Object(definitions.finish()));
    Value::Object(schema)
}

/// Shapes are defined once and referred to by name; steps contain each other.
#[derive(Default)]
struct Definitions {
    made: Map<String, Value>,
}

impl Definitions {
    fn finish(mut self) -> Map<String, Value> {
        let fixed = [
            (
                "variable",
                json!({"type": "string", "pattern": r"\(\(.+\)\)", "description": "A variable, such as ((name))."}),
            ),
            ("text", json!({"type": ["string", "number", "boolean"]})),
            (
                "duration",
                json!({"type": "string", "pattern": r"^(0|([0-9.]+(ns|us|µs|ms|s|m|h))+|.*\(\(.+\)\).*)$", "description": "A duration, such as 1h30m."}),
            ),
        ];
        for (name, definition) in fixed {
            self.made.insert(name.to_owned(), definition);
        }
        self.made
    }

    fn object(&mut self, shapes: &[&'static Shape], other_keys: bool) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in shapes.iter().flat_map(|shape| shape.fields) {
            properties.insert(field.name.to_owned(), self.field(field));
            if field.required {
                required.push(field.name);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        if !other_keys {
            schema.insert("additionalProperties".into(), json!(false));
        }
        schema
    }

    fn field(&mut self, field: &'static Field) -> Value {
        let mut schema = self.kind(field.kind);
        if !field.required && field.kind.may_be_null() {
            schema = json!({"anyOf": [schema, nothing()]});
        }
        if let Value::Object(map) = &mut schema {
            map.insert("description".into(), json!(field.doc));
        }
        schema
    }

    /// Anything that is not text may be a variable instead.
    fn kind(&mut self, kind: Kind) -> Value {
        let text = || json!({"$ref": "#/$defs/text"});
        let texts = || json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/text"}});
        let list = |items: Value| json!({"type": "array", "items": items});
        let word = |words: &[&str]| json!({"enum": words});
        match kind {
            Kind::Text => text(),
            Kind::Anything => json!({}),
            Kind::Flag => or_variable([json!({"type": "boolean"})]),
            Kind::Count => or_variable([json!({"type": "integer", "minimum": 0})]),
            Kind::Positive => or_variable([json!({"type": "integer", "minimum": 1})]),
            Kind::Duration | Kind::WrittenDuration => json!({"$ref": "#/$defs/duration"}),
            Kind::DurationOrNever => {
                json!({"anyOf": [{"$ref": "#/$defs/duration"}, {"const": "never"}]})
            }
            Kind::Texts => or_variable([list(text())]),
            Kind::TextMap => or_variable([texts()]),
            Kind::Env | Kind::Object => or_variable([json!({"type": "object"})]),
            Kind::Word(words) => or_variable([word(words)]),
            Kind::GetVersion => or_variable([word(&["latest", "every"]), texts()]),
            Kind::PutInputs => or_variable([word(&["detect", "all"]), list(text())]),
            Kind::MaxInFlight => {
                or_variable([word(&["all"]), json!({"type": "integer", "minimum": 1})])
            }
            Kind::Memory => or_variable([
                json!({"type": "integer", "minimum": 0}),
                json!({"type": "string", "pattern": "^[0-9]+([KkMmGg]([Ii]?[Bb])?)?$"}),
            ]),
            Kind::Inner(shape) => or_variable([self.refer(shape)]),
            Kind::List(shape) => or_variable([list(self.refer(shape))]),
            Kind::Step => self.step(),
            Kind::Steps => or_variable([list(self.step())]),
            Kind::StepsOr(shape) => or_variable([list(self.step()), self.refer(shape)]),
        }
    }

    fn refer(&mut self, shape: &'static Shape) -> Value {
        self.define(shape.name, shape.doc, &[shape])
    }

    fn define(&mut self, name: &str, doc: &str, shapes: &[&'static Shape]) -> Value {
        if !self.made.contains_key(name) {
            // Named before it is made: it may contain itself.
            self.made.insert(name.to_owned(), Value::Null);
            let mut definition = self.object(shapes, false);
            definition.insert("description".into(), json!(doc));
            self.made.insert(name.to_owned(), Value::Object(definition));
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    /// Whichever kind has its key there must fit, so that an editor complains about that kind
    /// alone.
    fn step(&mut self) -> Value {
        if !self.made.contains_key("step") {
            self.made.insert("step".to_owned(), Value::Null);
            let mut kinds = Vec::new();
            let mut choice = json!(false);
            for core in CORES.iter().rev() {
                let mut shapes = vec![core.shape, &modifiers::SHAPE, &across::SHAPE];
                if !core.own_timeout {
                    shapes.push(&modifiers::TIMEOUT);
                }
                let then = self.define(core.shape.name, core.shape.doc, &shapes);
                choice = json!({"if": {"required": [core.key]}, "then": then, "else": choice});
                kinds.push(json!({"required": [core.key]}));
            }
            let mut step = json!({"type": "object", "anyOf": kinds});
            if let (Value::Object(step), Value::Object(choice)) = (&mut step, choice) {
                step.extend(choice);
            }
            self.made.insert("step".to_owned(), step);
        }
        json!({"$ref": "#/$defs/step"})
    }
}

/// A key with nothing behind it, which is as good as no key.
fn nothing() -> Value {
    json!({"type": "null"})
}

fn or_variable<const N: usize>(kinds: [Value; N]) -> Value {
    let variable = json!({"$ref": "#/$defs/variable"});
    let kinds: Vec<Value> = kinds.into_iter().chain([variable]).collect();
    json!({"anyOf": kinds})
}

#[cfg(test)]
mod tests;
