//! Objects in the order in which they are applied, and their YAML.

use serde::Serialize;
use serde_json::Value;

/// Kubernetes objects for `kubectl apply`, each with a comment for people who read the YAML.
#[derive(Debug, Default)]
pub struct Manifest {
    objects: Vec<ManifestObject>,
}

#[derive(Debug)]
struct ManifestObject {
    /// Lines of the comment above the object; no comment if it is empty.
    comment: &'static str,
    value: Result<Value, serde_json::Error>,
}

/// An object could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("a Kubernetes object cannot be serialised")]
    Object(#[source] serde_json::Error),
    #[error("a Kubernetes object cannot be written as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

impl Manifest {
    /// Returns a manifest without objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object. A failure to serialise it is returned by [`Manifest::to_yaml`].
    pub fn with(self, object: &impl Serialize) -> Self {
        self.with_comment("", object)
    }

    /// Adds an object with a comment above it.
    pub fn with_comment(mut self, comment: &'static str, object: &impl Serialize) -> Self {
        self.objects.push(ManifestObject {
            comment,
            value: serde_json::to_value(object),
        });
        self
    }

    /// Adds the objects of another manifest after the own ones.
    pub fn and(mut self, other: Self) -> Self {
        self.objects.extend(other.objects);
        self
    }

    /// Returns the objects in their order, without those that could not be serialised.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter_map(|it| it.value.as_ref().ok())
    }

    /// Writes every object as a YAML document that begins with `---`.
    pub fn to_yaml(self) -> Result<String, WriteError> {
        let mut text = String::new();
        for object in self.objects {
            let value = object.value.map_err(WriteError::Object)?;
            text.push_str("---\n");
            for line in object.comment.lines() {
                text.push_str("# ");
                text.push_str(line);
                text.push('\n');
            }
            text.push_str(&serde_saphyr::to_string(&names_first(value))?);
        }
        Ok(text)
    }
}

/// Moves `metadata` before the other fields, where people look for an object's name.
fn names_first(object: Value) -> Value {
    let Value::Object(mut fields) = object else {
        return object;
    };
    let mut sorted = serde_json::Map::new();
    for key in ["apiVersion", "kind", "metadata"] {
        if let Some(value) = fields.shift_remove(key) {
            sorted.insert(key.to_owned(), value);
        }
    }
    sorted.append(&mut fields);
    Value::Object(sorted)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

    use super::*;
    use crate::meta;

    fn config_map(value: &str) -> ConfigMap {
        ConfigMap {
            metadata: meta::namespaced("ns", "a"),
            data: Some([("key".to_owned(), value.to_owned())].into()),
            ..ConfigMap::default()
        }
    }

    #[test]
    fn documents_have_comments_and_keep_their_order() {
        let namespace = Namespace {
            metadata: meta::cluster_wide("ns"),
            ..Namespace::default()
        };
        let manifest = Manifest::new()
            .with_comment("First.\nSecond.", &namespace)
            .and(Manifest::new().with(&config_map("yes")));
        assert_eq!(
            manifest.to_yaml().unwrap(),
            "\
---
# First.
# Second.
apiVersion: v1
kind: Namespace
metadata:
  name: ns
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  namespace: ns
data:
  key: \"yes\"
"
        );
    }

    #[test]
    fn every_text_is_read_back_as_it_was() {
        let long = "x: y && 'a' == \"b\" # c ".repeat(12);
        for value in [
            "",
            "no",
            "1e3",
            "a: b",
            "- a",
            "a\nb\n",
            "a\n\n  b",
            " a ",
            "'",
            "\"",
            "{}",
            "---",
            "%",
            "a\n---\nb",
            long.trim(),
            &long,
        ] {
            let text = Manifest::new().with(&config_map(value)).to_yaml().unwrap();
            let read: Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read["data"]["key"], value, "{text}");
        }
    }
}
