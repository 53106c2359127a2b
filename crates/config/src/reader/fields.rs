//! One map of the document, asked for its fields by name; what nobody asked for is unknown.

use std::collections::BTreeMap;

use airside_yaml::{Key, Node, Span, Value};
use serde_json::Map;

use super::Reader;
use crate::suggest;

pub(crate) struct Fields<'r, 'n> {
    pub(crate) reader: &'r mut Reader,
    pub(crate) path: String,
    pub(crate) span: Span,
    entries: &'n [(Key, Node)],
    asked: Vec<&'static str>,
}

impl<'r, 'n> Fields<'r, 'n> {
    /// Null is a map without fields; anything else that is no map is noted as a problem.
    pub(crate) fn open(reader: &'r mut Reader, node: &'n Node, path: &str) -> Option<Self> {
        let entries: &[(Key, Node)] = match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            other => {
                reader.wrong_type(path, node, "a map", other);
                return None;
            }
        };
        let path = path.to_owned();
        Some(Self {
            reader,
            path,
            span: node.span,
            entries,
            asked: Vec::new(),
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, _)| key.text == name)
    }

    /// Whether a text is missing: absent, null or empty.
    pub(crate) fn lacks(&mut self, name: &'static str) -> bool {
        self.take(name)
            .is_none_or(|node| node.value == Value::String(String::new()))
    }

    /// The field's value; null is as good as absent.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.take_even_null(name).filter(|node| !node.is_null())
    }

    fn take_even_null(&mut self, name: &'static str) -> Option<&'n Node> {
        self.asked.push(name);
        self.entries
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(_, node)| node)
    }

    pub(crate) fn key_span(&self, name: &str) -> Option<Span> {
        self.entries
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(key, _)| key.span)
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    pub(crate) fn string(&mut self, name: &'static str) -> String {
        let path = self.path_of(name);
        match self.take(name) {
            Some(node) => {
                self.reader.places.note(path.clone(), node.span);
                self.reader.text(node, &path)
            }
            None => String::new(),
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        let path = self.path_of(name);
        let Some(node) = self.take(name) else {
            return false;
        };
        match &node.value {
            Value::Bool(value) => *value,
            other => {
                self.reader.check_vars(node, &path);
                self.reader.wrong_type(&path, node, "true or false", other);
                false
            }
        }
    }

    pub(crate) fn integer(&mut self, name: &'static str) -> i64 {
        let path = self.path_of(name);
        let Some(node) = self.take(name) else {
            return 0;
        };
        self.reader.places.note(path.clone(), node.span);
        match &node.value {
            Value::Int(value) => *value,
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => *value as i64,
            other => {
                self.reader.check_vars(node, &path);
                self.reader.wrong_type(&path, node, "a whole number", other);
                0
            }
        }
    }

    /// A whole number that is not negative and not absurd.
    pub(crate) fn count(&mut self, name: &'static str) -> u32 {
        let value = self.integer(name);
        u32::try_from(value).unwrap_or_else(|_| {
            let path = self.path_of(name);
            let span = self.reader.places.find(&path).unwrap_or(self.span);
            self.reader
                .problem(&path, span, format!("must be between 0 and {}", u32::MAX));
            0
        })
    }

    pub(crate) fn strings(&mut self, name: &'static str) -> Vec<String> {
        let path = self.path_of(name);
        let Some(node) = self.take(name) else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (index, item) in self.reader.items(node, &path).iter().enumerate() {
            let path = format!("{path}[{index}]");
            self.reader.places.note(path.clone(), item.span);
            texts.push(self.reader.text(item, &path));
        }
        texts
    }

    pub(crate) fn string_map(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let path = self.path_of(name);
        let Some(node) = self.take(name) else {
            return BTreeMap::new();
        };
        self.reader.map(node, &path, Reader::text)
    }

    pub(crate) fn env(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let path = self.path_of(name);
        let Some(node) = self.take(name) else {
            return BTreeMap::new();
        };
        self.reader.map(node, &path, Reader::env_text)
    }

    /// A map of anything, as for `source` and `params` of resources.
    pub(crate) fn object(&mut self, name: &'static str) -> Option<Map<String, serde_json::Value>> {
        let path = self.path_of(name);
        let node = self.take(name)?;
        match self.reader.json(node, &path) {
            serde_json::Value::Object(map) => Some(map),
            _ => {
                self.reader.wrong_type(&path, node, "a map", &node.value);
                None
            }
        }
    }

    /// A list of maps, each read by `read` at the path `name[index]`.
    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Reader, &'n Node, &str) -> Option<T>,
    ) -> Vec<T> {
        let path = self.path_of(name);
        let Some(node) = self.take(name) else {
            return Vec::new();
        };
        let items = self.reader.items(node, &path);
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            list.extend(read(self.reader, item, &format!("{path}[{index}]")));
        }
        list
    }

    /// Refuses a field that Concourse has and this version cannot honour.
    pub(crate) fn refuse(&mut self, name: &'static str, path: &str) -> bool {
        if self.take(name).is_none() {
            return false;
        }
        let span = self.key_span(name).unwrap_or(self.span);
        self.reader.unsupported(path, span, &format!("`{name}`"));
        true
    }

    /// Notes every field that was not asked for.
    pub(crate) fn close(self) {
        for (key, _) in self.entries {
            if self.asked.contains(&key.text.as_str()) {
                continue;
            }
            let hint = suggest::hint(&key.text, self.asked.iter().copied());
            let message = format!("unknown fields [{:?}]{hint}", key.text);
            self.reader.problem(&self.path, key.span, message);
        }
    }
}
