//! One map of the document, asked for its fields by name; what its shapes do not have is unknown.

use std::collections::{BTreeMap, HashMap};

use airside_model::{BadDuration, read_duration};
use airside_yaml::{Key, Node, Span, Value};
use serde_json::Map;

use super::Reader;
use crate::{problem::Fix, shape::Shape, suggest};

pub(crate) struct Fields<'r, 'n> {
    pub(crate) reader: &'r mut Reader,
    pub(crate) path: String,
    pub(crate) span: Span,
    entries: &'n [(Key, Node)],
    shapes: Vec<&'static Shape>,
    asked: Vec<&'static str>,
}

impl<'r, 'n> Fields<'r, 'n> {
    /// Null is a map without fields; anything else that is not a map is noted as a problem.
    pub(crate) fn open(
        reader: &'r mut Reader,
        node: &'n Node,
        path: &str,
        shape: &'static Shape,
    ) -> Option<Self> {
        let entries: &[(Key, Node)] = match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            _ => {
                reader.wrong_type(path, node, "a map");
                return None;
            }
        };
        let path = path.to_owned();
        Some(Self {
            reader,
            path,
            span: node.span,
            entries,
            shapes: vec![shape],
            asked: Vec::new(),
        })
    }

    /// The map may have the fields of this shape as well.
    pub(crate) fn allow(&mut self, shape: &'static Shape) {
        self.shapes.push(shape);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, _)| key.text == name)
    }

    /// Returns true if a text is missing: absent, null or empty.
    pub(crate) fn lacks(&mut self, name: &'static str) -> bool {
        self.take(name)
            .is_none_or(|node| node.value == Value::String(String::new()))
    }

    /// The field's value; null is as good as absent.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        debug_assert!(
            self.shapes.iter().any(|shape| shape.has(name)),
            "no shape of {} has the field {name}",
            self.path
        );
        self.asked.push(name);
        self.entries
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(_, node)| node)
            .filter(|node| !node.is_null())
    }

    pub(crate) fn key_span(&self, name: &str) -> Option<Span> {
        self.entries
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(key, _)| key.span)
    }

    /// Made only for fields that are there: of those that could be, most are not.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            [&self.path, ".", name].concat()
        }
    }

    pub(crate) fn string(&mut self, name: &'static str) -> String {
        match self.take(name) {
            Some(node) => {
                let path = self.path_of(name);
                let text = self.reader.text(node, &path);
                self.reader.places.note(path, node.span);
                text
            }
            None => String::new(),
        }
    }

    /// A text that must be a duration, or one of `words`, or not there, or a variable.
    pub(crate) fn duration(&mut self, name: &'static str, words: &[&str]) -> String {
        let text = self.string(name);
        let is_var = airside_vars::first(&text).is_some();
        if text.is_empty() || is_var || words.contains(&text.as_str()) {
            return text;
        }
        match read_duration(&text) {
            Ok(_) => {}
            Err(BadDuration::Unreadable) => {
                self.complain(name, format!("invalid duration '{text}'"));
            }
            Err(why @ BadDuration::TooLong) => {
                self.complain(name, format!("invalid duration '{text}': it {why}"));
            }
        }
        text
    }

    /// Like [`Fields::duration`], where a variable would never be filled in.
    pub(crate) fn duration_now(&mut self, name: &'static str, words: &[&str]) -> String {
        let text = self.duration(name, words);
        if let Some(var) = airside_vars::first(&text) {
            let message = format!("the variable (({var})) needs a value when the pipeline is set");
            self.complain(name, message);
        }
        text
    }

    /// A problem with a field that is there.
    pub(crate) fn complain(&mut self, name: &str, message: impl Into<String>) {
        let path = self.path_of(name);
        let place = self.reader.places.find(&path);
        let span = place.or_else(|| self.key_span(name)).unwrap_or(self.span);
        self.reader.problem(&path, span, message);
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        let Some(node) = self.take(name) else {
            return false;
        };
        let path = self.path_of(name);
        self.reader.places.note(path.clone(), node.span);
        match &node.value {
            Value::Bool(value) => *value,
            _ => {
                self.reader.wrong_type(&path, node, "true or false");
                false
            }
        }
    }

    pub(crate) fn integer(&mut self, name: &'static str) -> i64 {
        let Some(node) = self.take(name) else {
            return 0;
        };
        let path = self.path_of(name);
        self.reader.places.note(path.clone(), node.span);
        match &node.value {
            Value::Int(value) => *value,
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => *value as i64,
            _ => {
                self.reader.wrong_type(&path, node, "a whole number");
                0
            }
        }
    }

    /// A whole number that is not negative and not absurd.
    pub(crate) fn count(&mut self, name: &'static str) -> u32 {
        let value = self.integer(name);
        u32::try_from(value).unwrap_or_else(|_| {
            self.complain(name, format!("must be between 0 and {}", u32::MAX));
            0
        })
    }

    pub(crate) fn strings(&mut self, name: &'static str) -> Vec<String> {
        let Some(node) = self.take(name) else {
            return Vec::new();
        };
        let path = self.path_of(name);
        let mut texts = Vec::new();
        for (index, item) in self.reader.items(node, &path).iter().enumerate() {
            let path = format!("{path}[{index}]");
            self.reader.places.note(path.clone(), item.span);
            texts.push(self.reader.text(item, &path));
        }
        texts
    }

    pub(crate) fn string_map(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let Some(node) = self.take(name) else {
            return BTreeMap::new();
        };
        let path = self.path_of(name);
        self.reader.map(node, &path, Reader::text)
    }

    pub(crate) fn env(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let Some(node) = self.take(name) else {
            return BTreeMap::new();
        };
        let path = self.path_of(name);
        self.reader.map(node, &path, Reader::env_text)
    }

    /// A map of anything, as for `source` and `params` of resources.
    pub(crate) fn object(&mut self, name: &'static str) -> Option<Map<String, serde_json::Value>> {
        let node = self.take(name)?;
        let path = self.path_of(name);
        if !matches!(node.value, Value::Map(_)) {
            self.reader.wrong_type(&path, node, "a map");
            return None;
        }
        match self.reader.json(node, &path) {
            serde_json::Value::Object(map) => Some(map),
            // What is wrong inside has been reported.
            _ => None,
        }
    }

    /// Anything; null if it is not there.
    pub(crate) fn json(&mut self, name: &'static str) -> serde_json::Value {
        match self.take(name) {
            Some(node) => self.reader.json(node, &self.path_of(name)),
            None => serde_json::Value::Null,
        }
    }

    /// A list of maps, each read by `read` at the path `name[index]`.
    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Reader, &'n Node, &str) -> Option<T>,
    ) -> Vec<T> {
        let Some(node) = self.take(name) else {
            return Vec::new();
        };
        let path = self.path_of(name);
        let items = self.reader.items(node, &path);
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            list.extend(read(self.reader, item, &format!("{path}[{index}]")));
        }
        list
    }

    /// Notes every field that no shape has as a problem.
    pub(crate) fn close(self) {
        let unknown = self.unknown();
        let meant: Vec<Option<&str>> = unknown.iter().map(|key| self.meant(key)).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for meant in meant.iter().flatten() {
            *times.entry(meant).or_default() += 1;
        }
        for (key, certain) in unknown.into_iter().zip(&meant) {
            let hint = suggest::hint(&key.text, self.known());
            let message = format!("unknown fields [{:?}]{hint}", key.text);
            self.reader.problem(&self.path, key.span, message);
            // Only one of several can be meant so.
            if let Some(certain) = certain.filter(|meant| times[meant] == 1) {
                self.reader.fix(Fix::replace(key.span, &key.text, certain));
            }
        }
    }

    /// Returns the field that an unknown key certainly means, unless the map has that one too.
    fn meant(&self, key: &Key) -> Option<&'static str> {
        let known: Vec<&'static str> = self.known().collect();
        suggest::certain(&key.text, known).filter(|meant| !self.has(meant))
    }

    /// Notes every field that no shape has as a warning: Concourse ignores unknown fields of such a
    /// map.
    pub(crate) fn close_loosely(self) {
        for key in self.unknown() {
            let hint = suggest::hint(&key.text, self.known());
            let message = format!(
                "{}: unknown field {:?} is ignored{hint}",
                self.path, key.text
            );
            self.reader.warning("unknown_field", key.span, message);
        }
    }

    /// Keys that are those of a shape but for their case, each with the right one.
    pub(crate) fn miscased(&self) -> Vec<(&'n Key, &'static str)> {
        let keys = self.entries.iter().map(|(key, _)| key);
        keys.filter_map(|key| {
            let mut known = self.known();
            let meant = known.find(|name| name.eq_ignore_ascii_case(&key.text))?;
            (meant != key.text).then_some((key, meant))
        })
        .collect()
    }

    /// Keys of no shape that certainly mean one that the map does not have, each with that one.
    pub(crate) fn misspelt(&self) -> Vec<(&'n Key, &'static str)> {
        let keys = self.entries.iter().map(|(key, _)| key);
        keys.filter(|key| {
            !self
                .known()
                .any(|name| name.eq_ignore_ascii_case(&key.text))
        })
        .filter_map(|key| Some((key, self.meant(key)?)))
        .collect()
    }

    fn unknown(&self) -> Vec<&'n Key> {
        debug_assert!(
            self.known().all(|name| self.asked.contains(&name)),
            "{} was not asked for one of {:?}",
            self.path,
            self.known().collect::<Vec<_>>()
        );
        let keys = self.entries.iter().map(|(key, _)| key);
        keys.filter(|key| !self.known().any(|name| name == key.text))
            .collect()
    }

    fn known(&self) -> impl Iterator<Item = &'static str> {
        self.shapes.iter().flat_map(|shape| shape.names())
    }
}
