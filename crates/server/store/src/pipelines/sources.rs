//! Resources whose source is another than before: their versions mean nothing to the new one.

use std::collections::{HashMap, HashSet};

use airside_model::SaveResource;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;

/// The (new) names of resources whose source, or that of the type they are made with, is another
/// one. What one of the two configurations does not have has not changed.
pub(super) fn changed(
    before: &Value,
    after: &Value,
    resources: &[SaveResource],
) -> HashSet<String> {
    let (before, after) = (Sources::in_config(before), Sources::in_config(after));
    let changed = resources.iter().filter(|resource| {
        let old = match resource.old_name.as_str() {
            "" => &resource.name,
            _ => &resource.old_name,
        };
        let before = before.origin(old).or_else(|| before.origin(&resource.name));
        let after = after.origin(&resource.name);
        before.is_some() && after.is_some() && before != after
    });
    changed.map(|resource| resource.name.clone()).collect()
}

/// Resources and their types, by name.
struct Sources<'a> {
    resources: HashMap<&'a str, &'a Value>,
    types: HashMap<&'a str, &'a Value>,
}

impl<'a> Sources<'a> {
    fn in_config(config: &'a Value) -> Self {
        Self {
            resources: by_name(&config["resources"]),
            types: by_name(&config["resource_types"]),
        }
    }

    /// Returns the origin of a resource's versions: its source, and types and sources of all it is
    /// made with.
    fn origin(&self, name: &str) -> Option<Vec<[&'a Value; 2]>> {
        let made_with = |one: &'a Value| [&one["type"], &one["source"]];
        let mut origin = vec![made_with(self.resources.get(name)?)];
        let mut seen = HashSet::new();
        // Each type at most once: one may be called like the base type that it is made with.
        while let Some(type_) = origin.last().and_then(|[type_, _]| type_.as_str())
            && let Some(made) = self.types.get(type_)
            && seen.insert(type_)
        {
            origin.push(made_with(made));
        }
        Some(origin)
    }
}

fn by_name(list: &Value) -> HashMap<&str, &Value> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|one| Some((one["name"].as_str()?, one)))
        .collect()
}

/// The part of a stored configuration that determines where versions come from; the rest, which is
/// most of it, is passed over.
pub(super) struct OnlySources(pub(super) Value);

impl<'de> Deserialize<'de> for OnlySources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Picked)
    }
}

struct Picked;

impl<'de> Visitor<'de> for Picked {
    type Value = OnlySources;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a configuration")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnlySources, A::Error> {
        let mut picked = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "resources" | "resource_types" => {
                    picked.insert(key, map.next_value()?);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(OnlySources(Value::Object(picked)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(source: &str, type_source: &str) -> Value {
        json!({
            "resources": [
                {"name": "a", "type": "mock", "source": {"uri": source}},
                {"name": "b", "type": "made", "source": {}},
            ],
            "resource_types": [
                {"name": "made", "type": "mock", "source": {"of": type_source}},
                {"name": "mock", "type": "mock", "source": {}},
            ],
        })
    }

    #[test]
    fn another_source_of_a_resource_or_its_type_counts_and_another_name_does_not() {
        let resources = [
            SaveResource::named("a", "mock"),
            SaveResource::named("b", "made"),
            SaveResource::named("c", "mock"),
        ];
        let changed = |before: &Value, after: &Value| {
            let mut names: Vec<_> = changed(before, after, &resources).into_iter().collect();
            names.sort();
            names
        };
        let one = config("x", "y");
        assert!(changed(&one, &one).is_empty());
        assert!(changed(&Value::Null, &one).is_empty());
        assert_eq!(changed(&one, &config("z", "y")), ["a"]);
        assert_eq!(changed(&one, &config("x", "z")), ["b"]);

        let mut renamed = one.clone();
        renamed["resources"][0]["name"] = json!("c");
        let formerly = [SaveResource::named("c", "mock").formerly("a")];
        assert!(super::changed(&one, &renamed, &formerly).is_empty());
        renamed["resources"][0]["source"] = json!({"uri": "elsewhere"});
        assert_eq!(super::changed(&one, &renamed, &formerly).len(), 1);
    }

    #[test]
    fn of_a_stored_configuration_only_sources_are_read() {
        let mut stored = config("x", "y");
        stored["jobs"] = json!([{"name": "job", "plan": [{"get": "a"}]}]);
        let OnlySources(read) = serde_json::from_str(&stored.to_string()).unwrap();
        assert_eq!(read, config("x", "y"));
        assert!(serde_json::from_str::<OnlySources>("[]").is_err());
    }
}
