use serde_json::{Value, json};

use super::*;

fn schema(crd: &impl serde::Serialize) -> Value {
    let crd = serde_json::to_value(crd).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Collects the fields of a schema that have no description, which `kubectl explain` would show
/// bare.
fn bare_fields(at: &str, schema: &Value, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{at}.{name}");
        if field["description"].as_str().is_none_or(str::is_empty) {
            found.push(path.clone());
        }
        bare_fields(&path, field, found);
        bare_fields(&format!("{path}[]"), &field["items"], found);
    }
}

#[test]
fn an_image_set_needs_only_its_images() {
    let spec: ImageSetSpec =
        serde_json::from_value(json!({"images": [{"image": "busybox"}]})).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&spec).unwrap());
}

#[test]
fn the_definitions_stay_as_they_are() {
    let [sets, nodes] = definitions();
    insta::assert_snapshot!("image_set", serde_json::to_string_pretty(&sets).unwrap());
    insta::assert_snapshot!("node_images", serde_json::to_string_pretty(&nodes).unwrap());
}

#[test]
fn what_people_write_is_explained() {
    let mut found = Vec::new();
    bare_fields(
        "spec",
        &schema(&definitions()[0])["properties"]["spec"],
        &mut found,
    );
    assert_eq!(found, Vec::<String>::new());
}
