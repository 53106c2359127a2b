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
fn a_field_may_be_null_where_the_reader_takes_null() {
    let schema = pipeline_schema();
    let null = json!({"type": "null"});
    for (definition, field, may_be_null) in [
        ("get_step", "resource", true),
        ("get_step", "trigger", true),
        ("get_step", "version", true),
        ("get_step", "passed", true),
        ("get_step", "params", true),
        ("get_step", "timeout", true),
        ("get_step", "get", false),
        ("get_step", "attempts", false),
        ("get_step", "ensure", false),
        ("put_step", "inputs", true),
        ("do_step", "timeout", false),
        ("task_step", "config", true),
        ("task_step", "container_limits", true),
        ("across_var", "max_in_flight", true),
        ("resource", "check_every", true),
        ("resource", "webhook_token", true),
        ("job", "serial", true),
        ("job", "max_in_flight", true),
    ] {
        let place = &schema["$defs"][definition]["properties"][field];
        assert!(place.is_object(), "{definition}.{field}");
        let kinds = place["anyOf"].as_array();
        let found = kinds.is_some_and(|kinds| kinds.contains(&null));
        assert_eq!(found, may_be_null, "{definition}.{field}");
    }
}

/// The reader takes null for every field that the schema lets be null.
#[test]
fn the_reader_takes_null_for_what_the_schema_lets_be_null() {
    let nulls = |shape: &Shape| -> String {
        let fields = shape.fields.iter();
        let fields = fields.filter(|field| !field.required && field.kind.may_be_null());
        fields
            .map(|field| format!(", {}: null", field.name))
            .collect()
    };
    let task = format!(
        "{{platform: linux, run: {{path: x{}}}{}}}",
        nulls(&task_shape::RUN),
        nulls(&task_shape::TASK)
    );
    let step = |shape: &Shape, own: &str| {
        let around = nulls(&modifiers::SHAPE);
        format!("  - {{{own}{}{around}}}\n", nulls(shape))
    };
    let steps = [
        step(&steps::get::SHAPE, "get: r"),
        step(&steps::put::SHAPE, "put: r"),
        step(
            &steps::set_pipeline::SHAPE,
            "set_pipeline: p, file: r/p.yml",
        ),
        step(&steps::load_var::SHAPE, "load_var: v, file: r/v.yml"),
        step(&steps::do_step::SHAPE, "do: []"),
        step(&steps::try_step::SHAPE, "try: {do: []}"),
        step(&steps::in_parallel::SHAPE, "in_parallel: []"),
        format!(
            "  - {{task: t, config: {task}{}}}\n",
            nulls(&modifiers::SHAPE)
        ),
    ];
    let text = format!(
        "resources: [{{name: r, type: mock{}}}]\njobs:\n- name: j\n  plan:\n{}{}",
        nulls(&resource::SHAPE),
        steps.concat(),
        nulls(&job::SHAPE)
            .replace(", plan: null", "")
            .replace(", ", "\n  ")
            .trim_start_matches('\n'),
    );
    let loaded = crate::load(&text);
    assert!(loaded.is_ok(), "{text}\n{loaded:?}");
}
