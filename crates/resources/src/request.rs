//! What is asked of a resource type and what it answers: the JSON of the resource scripts.

use airside_model::{MetadataField, Version};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::failure::{Failure, Part};

/// `source` or `params`, before its type has looked at it.
pub type Object = Map<String, Value>;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    #[serde(default)]
    pub source: Object,
    #[serde(default)]
    pub version: Option<Version>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InRequest {
    #[serde(default)]
    pub source: Object,
    #[serde(default)]
    pub params: Object,
    pub version: Version,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutRequest {
    #[serde(default)]
    pub source: Object,
    #[serde(default)]
    pub params: Object,
}

/// What `fetch` fetched or `push` made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Produced {
    pub version: Version,
    #[serde(default)]
    pub metadata: Vec<MetadataField>,
}

/// Gives an object its type's own form, or says which key it should not have, or not like that.
pub(crate) fn read<T: DeserializeOwned>(part: Part, object: Object) -> Result<T, Failure> {
    let form = |object: Object| serde_json::from_value::<T>(Value::Object(object));
    form(object.clone()).map_err(|error| Failure::Invalid {
        part,
        key: culprit(&object, &error.to_string(), &|object| {
            form(object).err().map(|error| error.to_string())
        }),
        error,
    })
}

/// The key without which the error would be another one, or none. It need not be looked for unless
/// something is wrong, and a reader that always knows where it is doubles the code of every type.
fn culprit(
    object: &Object,
    words: &str,
    form: &dyn Fn(Object) -> Option<String>,
) -> Option<String> {
    let is_it = |key: &&String| {
        let mut rest = object.clone();
        rest.remove(*key);
        form(rest).as_deref() != Some(words)
    };
    object.keys().find(is_it).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether it can be read matters")]
    struct Form {
        a: bool,
        b: Vec<String>,
    }

    #[test]
    fn mistakes_are_named_by_their_key() {
        let read = |value: Value| {
            let object = value.as_object().unwrap().clone();
            read::<Form>(Part::Source, object)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(read(json!({"a": true, "b": ["x"]})), None);
        for (value, beginning) in [
            (json!({"b": [], "a": 1}), "source.a is not valid: "),
            (json!({"a": true, "b": [1]}), "source.b is not valid: "),
            (
                json!({"a": true, "c": 1}),
                "source.c is not valid: unknown field `c`",
            ),
        ] {
            let words = read(value).unwrap();
            assert!(words.starts_with(beginning), "{words}");
        }
    }
}
