//! Instance variables: the variables that distinguish pipelines of one name.
//!
//! In URLs each leaf is a parameter of its own, `vars.<path>=<json>`, or one parameter
//! `vars=<json>` holds them all; with both, the single ones are laid over the whole. To people they
//! are shown as `key:value,other.nested:value`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Error, Reference};

/// Deepest way into a value. Deeper ones are refused: walking the value takes a frame of the stack
/// for each step.
const DEEPEST: usize = 64;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceVars(pub Map<String, Value>);

impl InstanceVars {
    /// Reads an instance from a URL's decoded parameters, whatever else is among them. `None` if
    /// they name no instance. Of parameters that occur twice the first counts.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<Self>, Error> {
        let mut values: BTreeMap<String, (Reference, Value)> = BTreeMap::new();
        for (key, text) in pairs {
            if key != "vars" && !key.starts_with("vars.") {
                continue;
            }
            let reference = Reference::parse(key)?;
            if reference.fields.len() > DEEPEST {
                return Err(Error::Syntax {
                    name: key.chars().take(80).collect(),
                    reason: "too many fields",
                });
            }
            let shown = reference.to_string();
            if values.contains_key(&shown) {
                continue;
            }
            let value = serde_json::from_str(text).map_err(|error| Error::NotJson {
                key: key.to_owned(),
                reason: error.to_string(),
            })?;
            values.insert(shown, (reference, value));
        }
        // Sorted, the whole comes before what is laid over it.
        match expand(values.into_values()).remove("vars") {
            Some(Value::Object(map)) => Ok(Some(Self(map))),
            _ => Ok(None),
        }
    }

    /// The parameters that [`InstanceVars::from_query`] reads, sorted and not yet URL-encoded.
    pub fn to_query(&self) -> Vec<(String, String)> {
        self.leaves()
            .into_iter()
            .map(|(path, value)| (format!("vars.{path}"), value.to_string()))
            .collect()
    }

    /// `key:value,other:value`. Texts are quoted if they would not be read as texts again; whether
    /// YAML reads one as a text is for `is_text` to say.
    pub fn shown(&self, is_text: impl Fn(&str) -> bool) -> String {
        let shown = |(path, value): (String, &Value)| match value {
            Value::String(text) if is_text(text) && !text.contains([',', ':', ' ', '/']) => {
                let quoted = value.to_string();
                format!("{path}:{}", &quoted[1..quoted.len() - 1])
            }
            value => format!("{path}:{value}"),
        };
        let parts: Vec<String> = self.leaves().into_iter().map(shown).collect();
        parts.join(",")
    }

    fn leaves(&self) -> Vec<(String, &Value)> {
        let mut leaves: Vec<(String, &Value)> = flatten(&self.0)
            .into_iter()
            .map(|(reference, value)| (reference.to_string(), value))
            .collect();
        leaves.sort_by(|(a, _), (b, _)| a.cmp(b));
        leaves
    }
}

/// Every leaf of a map with the way to it. A list is a leaf; an empty map has none.
pub fn flatten(map: &Map<String, Value>) -> Vec<(Reference, &Value)> {
    let mut leaves = Vec::new();
    for (path, value) in map {
        let reference = Reference {
            path: path.clone(),
            ..Reference::default()
        };
        flatten_into(reference, value, &mut leaves);
    }
    leaves
}

fn flatten_into<'v>(at: Reference, value: &'v Value, leaves: &mut Vec<(Reference, &'v Value)>) {
    let Value::Object(map) = value else {
        return leaves.push((at, value));
    };
    for (field, value) in map {
        let mut at = at.clone();
        at.fields.push(field.clone());
        flatten_into(at, value, leaves);
    }
}

/// Nests leaves again, as `fly -v a.b=c` does. Later ones win.
pub fn expand(leaves: impl IntoIterator<Item = (Reference, Value)>) -> Map<String, Value> {
    let mut map = Map::new();
    for (reference, value) in leaves {
        let mut place = map.entry(reference.path).or_insert(Value::Null);
        for field in reference.fields {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            let Value::Object(inner) = place else {
                unreachable!("it has just been made a map");
            };
            place = inner.entry(field).or_insert(Value::Null);
        }
        *place = value;
    }
    map
}
