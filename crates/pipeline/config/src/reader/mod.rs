//! Reads typed fields out of spanned nodes, and collects everything that is wrong on the way.
//!
//! A field that is wrong is noted and gets its default, so that one pass finds all problems. What
//! is read is only used if there were none.

mod fields;
mod go_json;
mod places;

use std::collections::BTreeMap;

use airside_yaml::{Node, Span, Value};

pub(crate) use fields::Fields;
pub(crate) use places::Places;

use crate::problem::Fix;
use crate::{Problem, Section, Warning};

/// Maximum nesting of the values of resources, params and variables. Plans hold them below their
/// own levels, and have to be read again by readers that give up at 128.
const MAX_VALUE_DEPTH: usize = 32;

fn is_deeper(node: &Node, levels: usize) -> bool {
    match (&node.value, levels.checked_sub(1)) {
        (Value::Seq(_) | Value::Map(_), None) => true,
        (Value::Seq(items), Some(left)) => items.iter().any(|item| is_deeper(item, left)),
        (Value::Map(entries), Some(left)) => {
            entries.iter().any(|(_, value)| is_deeper(value, left))
        }
        _ => false,
    }
}

/// Gives a value as a variable of the environment: numbers and booleans as text, lists and maps as
/// JSON, null empty.
pub fn env_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => go_json::text(other),
    }
}

pub(crate) struct Reader {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) places: Places,
    /// Section that is being read.
    pub(crate) section: Section,
    /// Some steps could not be read: what they use is unknown.
    pub(crate) steps_missing: bool,
    /// Only a string is a text, as Concourse has it inside steps and task files. Elsewhere a number
    /// or boolean is one too.
    pub(crate) exact_text: bool,
}

impl Reader {
    pub(crate) fn new(section: Section) -> Self {
        Self {
            problems: Vec::new(),
            warnings: Vec::new(),
            places: Places::default(),
            section,
            steps_missing: false,
            exact_text: false,
        }
    }

    pub(crate) fn problem(&mut self, path: &str, span: Span, message: impl Into<String>) {
        self.problems.push(Problem {
            section: self.section,
            path: (!path.is_empty()).then(|| path.to_owned()),
            message: message.into(),
            span: Some(span),
            fixes: Vec::new(),
        });
    }

    /// Adds an edit that mends the problem that was noted last.
    pub(crate) fn fix(&mut self, fix: Fix) {
        if let Some(problem) = self.problems.last_mut() {
            problem.fixes.push(fix);
        }
    }

    pub(crate) fn warning(&mut self, type_: &str, span: Span, message: String) {
        self.warnings.push(Warning::new(type_, message, Some(span)));
    }

    /// A list's items; null is an empty one.
    pub(crate) fn items<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Node] {
        match &node.value {
            Value::Seq(items) => items,
            Value::Null => &[],
            _ => {
                self.wrong_type(path, node, "a list");
                &[]
            }
        }
    }

    /// Reads `read` with [`Reader::exact_text`].
    pub(crate) fn exactly<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.exact_text, true);
        let value = read(self);
        self.exact_text = outside;
        value
    }

    /// A text; null is an empty one.
    pub(crate) fn text(&mut self, node: &Node, path: &str) -> String {
        let is_exact = matches!(node.value, Value::String(_)) || !self.exact_text;
        match node.value.scalar_text() {
            Some(text) if is_exact => text,
            Some(text) => {
                let kind = node.value.kind();
                let message = format!("must be a string, but is {kind}; put it in quotes");
                self.problem(path, node.span, message);
                self.fix(Fix::quote(node.span));
                // Nothing must be reported as missing as well.
                text
            }
            None if node.is_null() => String::new(),
            None => {
                self.wrong_type(path, node, "a string");
                String::new()
            }
        }
    }

    /// Anything, as long as it is not nested too deep to be part of a plan.
    pub(crate) fn json(&mut self, node: &Node, path: &str) -> serde_json::Value {
        if is_deeper(node, MAX_VALUE_DEPTH) {
            let message = format!("is nested more than {MAX_VALUE_DEPTH} levels deep");
            self.problem(path, node.span, message);
            return serde_json::Value::Null;
        }
        node.to_json().unwrap_or_else(|error| {
            self.problem(path, node.span, error.kind.to_string());
            serde_json::Value::Null
        })
    }

    /// Reads a variable of the environment, see [`env_text`].
    pub(crate) fn env_text(&mut self, node: &Node, path: &str) -> String {
        env_text(&self.json(node, path))
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
                self.wrong_type(path, node, "a map");
            }
            return BTreeMap::new();
        };
        let mut values = BTreeMap::new();
        for (key, value) in entries {
            let value = read(self, value, &format!("{path}.{}", key.text));
            values.insert(key.text.clone(), value);
        }
        values
    }

    /// Says what was wanted instead. A variable can only be meant to have been given a value by
    /// now.
    pub(crate) fn wrong_type(&mut self, path: &str, node: &Node, wanted: &str) {
        let var = match &node.value {
            Value::String(text) => airside_vars::first(text),
            _ => None,
        };
        let message = match var {
            Some(var) => format!(
                "must be {wanted}, but is the variable (({var})), which needs a value when the pipeline is set"
            ),
            None => format!("must be {wanted}, but is {}", node.value.kind()),
        };
        self.problem(path, node.span, message);
    }
}
