//! Paths of fields: `a.b[0].c[type=Ready].d`, and `a["key.with/dots"]`.

use serde_json::{Map, Value};

/// Longest path that is read, in bytes.
const MAX_PATH_BYTES: usize = 1024;
/// Largest number of steps of a path.
const MAX_STEPS: usize = 32;

/// The way to one field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    written: String,
    steps: Vec<PathStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
    /// The first item of a list that has this text in this field.
    Item {
        key: String,
        text: String,
    },
}

/// A text that is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path:?} is not a path of a field: {why}; write it like status.conditions[type=Ready].reason"
)]
pub struct BadFieldPath {
    path: String,
    why: &'static str,
}

/// A path whose list or item is not there, so that nothing can be written there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object has no {path}: {why}")]
pub struct NoSuchField {
    path: String,
    why: &'static str,
}

impl FieldPath {
    /// Reads a path. A dot or a dollar ahead, as `kubectl` has them, means nothing.
    pub fn parse(written: &str) -> Result<Self, BadFieldPath> {
        let bad = |why| BadFieldPath {
            path: written.chars().take(100).collect(),
            why,
        };
        if written.len() > MAX_PATH_BYTES {
            return Err(bad("it is longer than 1024 bytes"));
        }
        let mut rest = written.strip_prefix('$').unwrap_or(written);
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let mut steps = Vec::new();
        let mut is_first = true;
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('[') {
                Some(inner) => bracket(inner).map_err(bad)?,
                None => key(rest, is_first).map_err(bad)?,
            };
            if steps.len() == MAX_STEPS {
                return Err(bad("it has more than 32 steps"));
            }
            steps.push(step);
            (rest, is_first) = (after, false);
        }
        if steps.is_empty() {
            return Err(bad("it is empty"));
        }
        Ok(Self {
            written: written.to_owned(),
            steps,
        })
    }

    /// Returns the path as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns the value at the path, if it is there and not null.
    pub fn find<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let mut value = object;
        for step in &self.steps {
            value = match step {
                PathStep::Key(key) => value.get(key)?,
                PathStep::Index(index) => value.get(index)?,
                PathStep::Item { key, text } => {
                    let mut items = value.as_array()?.iter();
                    items.find(|item| is_item(item, key, text))?
                }
            };
        }
        (!value.is_null()).then_some(value)
    }

    /// Writes a value at the path. Maps that are not there are made; items of lists are not.
    pub fn write(&self, object: &mut Value, new: Value) -> Result<(), NoSuchField> {
        let none = |why| NoSuchField {
            path: self.written.clone(),
            why,
        };
        let mut place = object;
        for step in &self.steps {
            place = match step {
                PathStep::Key(key) => {
                    if place.is_null() {
                        *place = Value::Object(Map::new());
                    }
                    let map = place.as_object_mut();
                    let map = map.ok_or_else(|| none("what holds it is no map"))?;
                    map.entry(key.clone()).or_insert(Value::Null)
                }
                PathStep::Index(index) => {
                    let found = place.get_mut(index);
                    found.ok_or_else(|| none("its list has no such item"))?
                }
                PathStep::Item { key, text } => {
                    let items = place.as_array_mut();
                    let mut items = items
                        .ok_or_else(|| none("what holds it is no list"))?
                        .iter_mut();
                    let found = items.find(|item| is_item(item, key, text));
                    found.ok_or_else(|| none("its list has no such item"))?
                }
            };
        }
        *place = new;
        Ok(())
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.written)
    }
}

fn is_item(item: &Value, key: &str, text: &str) -> bool {
    match item.get(key) {
        Some(Value::String(found)) => found == text,
        Some(found @ (Value::Number(_) | Value::Bool(_))) => {
            let shown = found.to_string();
            shown == text
        }
        _ => false,
    }
}

type ReadStep<'a> = Result<(PathStep, &'a str), &'static str>;

fn key(rest: &str, is_first: bool) -> ReadStep<'_> {
    let rest = match rest.strip_prefix('.') {
        Some(rest) => rest,
        None if is_first => rest,
        None => return Err("a dot is missing after a bracket"),
    };
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (key, after) = rest.split_at(end);
    if key.is_empty() {
        return Err("a name is missing");
    }
    if key.contains([']', '=', '"']) || key.contains(char::is_whitespace) {
        return Err("a name has a sign that names do not have");
    }
    Ok((PathStep::Key(key.to_owned()), after))
}

/// Reads what stands behind a `[`.
fn bracket(inner: &str) -> ReadStep<'_> {
    if let Some(quoted) = inner.strip_prefix('"') {
        let (key, after) = quoted.split_once("\"]").ok_or("a quote is not closed")?;
        return Ok((PathStep::Key(key.to_owned()), after));
    }
    let (within, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
    let step = match within.split_once('=') {
        Some((key, text)) if !key.is_empty() => PathStep::Item {
            key: key.to_owned(),
            text: text.trim_matches('"').to_owned(),
        },
        Some(_) => return Err("a bracket has no name before its ="),
        None => {
            let index = within.parse();
            PathStep::Index(index.map_err(|_| "a bracket has neither a number nor a test")?)
        }
    };
    Ok((step, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "a": {"b": [{"c": [{"type": "Ready", "d": "x", "n": 3}]}]},
            "metadata": {"annotations": {"example.com/x": "y"}}, "none": null,
        })
    }

    #[test]
    fn fields_are_found() {
        for (path, value) in [
            ("a.b[0].c[type=Ready].d", json!("x")),
            (".a.b[0].c[0].d", json!("x")),
            ("$.a.b[0].c[n=3].type", json!("Ready")),
            ("metadata.annotations[\"example.com/x\"]", json!("y")),
            ("a.b[1]", Value::Null),
            ("a.b[0].c[type=Other].d", Value::Null),
            ("a.b.c", Value::Null),
            ("none", Value::Null),
        ] {
            let found = FieldPath::parse(path).unwrap();
            let found = found.find(&object()).cloned().unwrap_or_default();
            assert_eq!(found, value, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [
            "", ".", "a..b", "a[", "a[x]", "a[=b]", "a[0]b", "a b", "a[\"b]", "a]",
        ] {
            assert!(FieldPath::parse(path).is_err(), "{path}");
        }
        assert!(FieldPath::parse(&"a.".repeat(600)).is_err());
        assert!(FieldPath::parse(&["a"; 33].join(".")).is_err());
        assert!(FieldPath::parse(&["a"; 32].join(".")).is_ok());
    }

    #[test]
    fn fields_are_written() {
        let write = |path: &str| {
            let mut object = object();
            let path = FieldPath::parse(path).unwrap();
            path.write(&mut object, json!(7))?;
            Ok::<_, NoSuchField>(path.find(&object).cloned())
        };
        for path in ["a.b[0].c[type=Ready].d", "new.map.here", "none.x", "a.b[0]"] {
            assert_eq!(write(path), Ok(Some(json!(7))), "{path}");
        }
        for path in [
            "a.b[1]",
            "a.b[x=y].z",
            "a[x=y]",
            "metadata.annotations[0]",
            "a.b.c",
        ] {
            assert!(write(path).is_err(), "{path}");
        }
    }
}
