//! Reads typed fields out of spanned nodes, and collects everything that is wrong on the way.
//!
//! A field that is wrong is noted and gets its default, so that one pass finds all problems. What is
//! read is only used if there were none.

mod fields;
mod go_json;
mod places;

use std::collections::BTreeMap;

use airside_yaml::{Node, Span, Value};

pub(crate) use fields::Fields;
pub(crate) use places::Places;

use crate::{Problem, Section, vars};

pub(crate) struct Reader {
    pub(crate) problems: Vec<Problem>,
    pub(crate) places: Places,
    /// What is being read right now.
    pub(crate) section: Section,
    /// Some steps could not be read: what they use is unknown.
    pub(crate) steps_missing: bool,
}

impl Reader {
    pub(crate) fn new(section: Section) -> Self {
        Self {
            problems: Vec::new(),
            places: Places::default(),
            section,
            steps_missing: false,
        }
    }

    pub(crate) fn problem(&mut self, path: &str, span: Span, message: impl Into<String>) {
        self.problems.push(Problem {
            section: self.section,
            path: (!path.is_empty()).then(|| path.to_owned()),
            message: message.into(),
            span: Some(span),
        });
    }

    /// A feature of Concourse that this version does not have.
    pub(crate) fn unsupported(&mut self, path: &str, span: Span, feature: &str) {
        self.problem(
            path,
            span,
            format!("{feature} is not supported yet by this version"),
        );
    }

    /// A list's items; null is an empty one.
    pub(crate) fn items<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Node] {
        match &node.value {
            Value::Seq(items) => items,
            Value::Null => &[],
            other => {
                self.wrong_type(path, node, "a list", other);
                &[]
            }
        }
    }

    /// Any scalar is a string where a string is wanted.
    pub(crate) fn text(&mut self, node: &Node, path: &str) -> String {
        self.check_vars(node, path);
        match node.value.scalar_text() {
            Some(text) => text,
            None if node.is_null() => String::new(),
            None => {
                self.wrong_type(path, node, "a string", &node.value);
                String::new()
            }
        }
    }

    pub(crate) fn json(&mut self, node: &Node, path: &str) -> serde_json::Value {
        self.check_vars(node, path);
        node.to_json().unwrap_or_else(|error| {
            self.problem(path, node.span, error.kind.to_string());
            serde_json::Value::Null
        })
    }

    /// Like environment variables: numbers and booleans as text, lists and maps as JSON, null empty.
    pub(crate) fn env_text(&mut self, node: &Node, path: &str) -> String {
        match self.json(node, path) {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text,
            other => go_json::text(&other),
        }
    }

    /// The values of a map, each read by `read`.
    pub(crate) fn map<T>(
        &mut self,
        node: &Node,
        path: &str,
        mut read: impl FnMut(&mut Self, &Node, &str) -> T,
    ) -> BTreeMap<String, T> {
        let Value::Map(entries) = &node.value else {
            if !node.is_null() {
                self.check_vars(node, path);
                self.wrong_type(path, node, "a map", &node.value);
            }
            return BTreeMap::new();
        };
        let mut values = BTreeMap::new();
        for (key, value) in entries {
            self.check_var(&key.text, key.span, path);
            let value = read(self, value, &format!("{path}.{}", key.text));
            values.insert(key.text.clone(), value);
        }
        values
    }

    pub(crate) fn wrong_type(&mut self, path: &str, node: &Node, wanted: &str, got: &Value) {
        self.problem(
            path,
            node.span,
            format!("must be {wanted}, but is {}", got.kind()),
        );
    }

    pub(crate) fn check_vars(&mut self, node: &Node, path: &str) {
        match &node.value {
            Value::String(text) => self.check_var(text, node.span, path),
            Value::Seq(items) => items.iter().for_each(|item| self.check_vars(item, path)),
            Value::Map(entries) => {
                for (key, value) in entries {
                    self.check_var(&key.text, key.span, path);
                    self.check_vars(value, path);
                }
            }
            _ => {}
        }
    }

    fn check_var(&mut self, text: &str, span: Span, path: &str) {
        if let Some(var) = vars::first(text) {
            self.unsupported(path, span, &format!("the variable {var}"));
        }
    }
}
