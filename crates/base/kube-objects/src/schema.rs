//! Schemas of custom resources, in the form that API servers accept without a warning.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Replaces formats of unsigned numbers, which Kubernetes does not know and warns about. Their
/// minimum still keeps them from being negative.
pub fn use_known_formats(schema: &mut JSONSchemaProps) {
    for_each_schema(schema, &|one| {
        if matches!(one.format.as_deref(), Some("uint" | "uint32" | "uint64")) {
            one.format = Some("int64".to_owned());
        }
    });
}

/// Removes the permission to be null from every field, so that the API server prunes nulls and a
/// rule's `has()` is true of fields with a value alone.
pub fn without_nulls(schema: &mut JSONSchemaProps) {
    for_each_schema(schema, &|one| {
        one.nullable = None;
        if let Some(values) = &mut one.enum_ {
            values.retain(|value| !value.0.is_null());
        }
    });
}

/// Calls a function with a schema and every schema within it.
fn for_each_schema(schema: &mut JSONSchemaProps, change: &dyn Fn(&mut JSONSchemaProps)) {
    change(schema);
    let properties = schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut());
    properties.for_each(|one| for_each_schema(one, change));
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => for_each_schema(items, change),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => {
            items
                .iter_mut()
                .for_each(|one| for_each_schema(one, change));
        }
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        for_each_schema(values, change);
    }
}
