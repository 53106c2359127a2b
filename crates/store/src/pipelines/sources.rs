//! Which resources come from elsewhere than before: their versions mean nothing to the new place.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::SaveResource;

/// The (new) names of resources whose source, or that of the type they are made with, is another one.
/// What one of the two configurations does not have has not changed.
pub(super) fn changed(
    before: &Value,
    after: &Value,
    resources: &[SaveResource],
) -> HashSet<String> {
    let changed = resources.iter().filter(|resource| {
        let old = match resource.old_name.as_str() {
            "" => &resource.name,
            _ => &resource.old_name,
        };
        let before = origin(before, old).or_else(|| origin(before, &resource.name));
        let after = origin(after, &resource.name);
        before.is_some() && after.is_some() && before != after
    });
    changed.map(|resource| resource.name.clone()).collect()
}

/// Where a resource's versions come from: its source, and types and sources of all it is made with.
fn origin(config: &Value, name: &str) -> Option<Value> {
    let resource = named(&config["resources"], name)?;
    let mut origin = vec![json!([resource["type"], resource["source"]])];
    let mut types = config["resource_types"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut type_ = resource["type"].clone();
    // Each type at most once: one may be called like the base type that it is made with.
    while let Some(at) = types.iter().position(|one| one["name"] == type_) {
        let made = types.swap_remove(at);
        origin.push(json!([made["type"], made["source"]]));
        type_ = made["type"].clone();
    }
    Some(Value::Array(origin))
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|one| one["name"] == name)
}

#[cfg(test)]
mod tests {
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
}
