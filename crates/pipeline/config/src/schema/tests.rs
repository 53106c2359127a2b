//! The schema has every field that the reader knows, refers to nothing that is not there, and the
//! page for users mentions every field.

use std::collections::BTreeSet;

use super::*;
use crate::{group, job, resource, resource_type, steps, var_source};

/// Every shape that the reader goes by.
fn shapes() -> Vec<&'static Shape> {
    let mut shapes = vec![
        &config::SHAPE,
        &config::DISPLAY,
        &group::SHAPE,
        &job::SHAPE,
        &job::RETENTION,
        &resource::SHAPE,
        &resource_type::SHAPE,
        &var_source::SHAPE,
        &across::VAR,
        &steps::in_parallel::CONFIG,
        &task_shape::TASK,
        &task_shape::IMAGE_RESOURCE,
        &task_shape::RUN,
        &task_shape::INPUT,
        &task_shape::OUTPUT,
        &task_shape::CACHE,
        &task_shape::LIMITS,
    ];
    shapes.extend(CORES.iter().map(|core| core.shape));
    shapes
}

#[test]
fn every_field_of_the_reader_is_in_the_schema() {
    let schema = pipeline_schema();
    for shape in shapes() {
        let definition = match shape.name {
            "pipeline" => &schema,
            name => &schema["$defs"][name],
        };
        for name in shape.names() {
            let field = &definition["properties"][name];
            assert!(field.is_object(), "{} has no {name}", shape.name);
            assert!(field["description"].is_string(), "{}.{name}", shape.name);
        }
    }
    let around = [&modifiers::SHAPE, &modifiers::TIMEOUT, &across::SHAPE];
    for core in &CORES {
        let definition = &schema["$defs"][core.shape.name];
        for name in around.iter().flat_map(|shape| shape.names()) {
            assert!(
                definition["properties"][name].is_object(),
                "{} has no {name}",
                core.key
            );
        }
        assert_eq!(definition["additionalProperties"], false);
    }
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                found.insert(target.clone());
            }
            map.values().for_each(|value| collect(value, found));
        }
        _ => {}
    }
}

#[test]
fn references_lead_somewhere() {
    for schema in [pipeline_schema(), task_schema()] {
        let mut targets = BTreeSet::new();
        collect(&schema, &mut targets);
        assert!(!targets.is_empty());
        for target in targets {
            let name = target.strip_prefix("#/$defs/").expect("a definition");
            assert!(schema["$defs"][name].is_object(), "{target}");
        }
        assert_eq!(schema["$schema"], DRAFT);
    }
}

#[test]
fn the_page_for_users_mentions_every_field() {
    let page = include_str!("../../../../../docs/pipelines.md");
    let around = [&modifiers::SHAPE, &modifiers::TIMEOUT, &across::SHAPE];
    for shape in shapes().into_iter().chain(around) {
        for name in shape.names() {
            assert!(page.contains(&format!("`{name}`")), "{}.{name}", shape.name);
        }
    }
}

#[test]
fn a_text_that_is_not_needed_may_be_null() {
    let schema = pipeline_schema();
    let get = &schema["$defs"]["get_step"]["properties"];
    let null = json!({"type": "null"});
    assert_eq!(get["resource"]["anyOf"][1], null);
    assert!(get["get"]["anyOf"].is_null());
}
