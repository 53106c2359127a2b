use serde_json::{Value, json};

use super::*;

fn schemas() -> Vec<(String, Value)> {
    let schema = |definition| {
        let definition = serde_json::to_value(definition).unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        (kind.to_owned(), schema.clone())
    };
    definitions().map(schema).into()
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
fn the_definitions_stay_as_they_are() {
    for definition in definitions() {
        let name = definition.spec.names.plural.clone();
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&definition).unwrap());
    }
}

#[test]
fn every_field_is_explained() {
    let mut found = Vec::new();
    for (kind, schema) in schemas() {
        for part in ["spec", "status"] {
            bare_fields(
                &format!("{kind}.{part}"),
                &schema["properties"][part],
                &mut found,
            );
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_configuration_has_one_owner_and_keeps_everything() {
    let (_, pipeline) = &schemas()[0];
    let config = &pipeline["properties"]["spec"]["properties"]["config"];
    assert_eq!(config["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(config["x-kubernetes-map-type"], "atomic");
    assert_eq!(config["type"], "object");
}

#[test]
fn objects_are_read_as_people_write_them() {
    let pipeline: ClusterPipeline = serde_json::from_value(json!({
        "apiVersion": "ci.airside.dev/v1alpha1",
        "kind": "Pipeline",
        "metadata": {"name": "app", "namespace": "ci-main"},
        "spec": {"config": {"jobs": []}, "vars": {"region": "eu"}, "paused": false},
    }))
    .unwrap();
    assert_eq!(pipeline.pipeline_name(), "app");
    assert!(pipeline.sets_pipeline());
    assert_eq!(pipeline.spec.deletion_policy, ObjectDeletionPolicy::Archive);
    let build: ClusterBuild = serde_json::from_value(json!({
        "apiVersion": "ci.airside.dev/v1alpha1",
        "kind": "PipelineBuild",
        "metadata": {"generateName": "app-unit-", "namespace": "ci-main"},
        "spec": {"pipeline": "app", "job": "unit"},
    }))
    .unwrap();
    assert!(!build.spec.abort);
    assert_eq!(build.spec.rerun_of, None);
}

#[test]
fn every_number_has_a_format_that_kubernetes_knows() {
    for definition in definitions() {
        let text = serde_json::to_string(&definition).unwrap();
        assert!(!text.contains("\"uint"), "{text}");
    }
}
