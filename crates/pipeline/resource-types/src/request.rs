//! Requests to a resource type and its answers: the JSON of the resource scripts.

use std::io::Write;

use airside_model::{MetadataField, Version, chain};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    failure::{Failure, Part},
    log::say,
};

/// `source` or `params`, before its type has looked at it.
pub type Object = Map<String, Value>;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckInput {
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

/// The version and metadata that `fetch` fetched or `push` made.
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
        key: culprit(&object, &chain(&error), &|object| {
            form(object).err().map(|error| chain(&error))
        }),
        error,
    })
}

/// Reads an object like [`read`], but a key that the type does not know is a line in the log and
/// not a mistake.
///
/// The types that Concourse ships as shell scripts never see such a key, so pipelines have them.
pub(crate) fn read_with_warnings<T: DeserializeOwned>(
    part: Part,
    object: Object,
    log: &mut dyn Write,
) -> Result<T, Failure> {
    let mut unknown = Vec::new();
    let known = serde_ignored::deserialize(Value::Object(object.clone()), |path| {
        unknown.push(path.to_string());
    });
    for path in unknown.iter().take(MOST_WARNINGS) {
        say(
            log,
            &format!("warning: {part}.{path} is not a key of this type and has no effect"),
        );
    }
    match known {
        Ok(known) => Ok(known),
        Err(_) => read(part, object),
    }
}

/// The number of unknown keys that a log names.
const MOST_WARNINGS: usize = 20;

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

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Lenient {
        a: bool,
    }

    #[test]
    fn an_unknown_key_is_a_warning_where_the_type_is_lenient() {
        let read = |value: Value| {
            let (object, mut log) = (value.as_object().unwrap().clone(), Vec::new());
            let form = read_with_warnings::<Lenient>(Part::Source, object, &mut log);
            let form = form.map(|form| form.a).map_err(|error| error.to_string());
            (form, String::from_utf8(log).unwrap())
        };
        let words = "warning: source.depth is not a key of this type and has no effect\n";
        assert_eq!(
            read(json!({"a": true, "depth": 1})),
            (Ok(true), words.to_owned())
        );
        let (form, _) = read(json!({"a": 1, "depth": 1}));
        assert!(form.unwrap_err().starts_with("source.a is not valid: "));
    }
}
