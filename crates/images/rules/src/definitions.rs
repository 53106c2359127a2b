//! The custom resources, in the form that API servers accept without a warning.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt as _;

use crate::{ImageSet, NodeImages};

/// Returns the definitions of `ImageSet` and `NodeImages`.
pub fn definitions() -> [CustomResourceDefinition; 2] {
    [ImageSet::crd(), NodeImages::crd()].map(|mut definition| {
        for version in &mut definition.spec.versions {
            let schema = version.schema.as_mut();
            if let Some(schema) = schema.and_then(|it| it.open_api_v3_schema.as_mut()) {
                use_known_formats(schema);
            }
        }
        definition
    })
}

/// Replaces formats of unsigned numbers, which Kubernetes does not know and warns about. Their
/// minimum still keeps them from being negative.
fn use_known_formats(schema: &mut JSONSchemaProps) {
    if matches!(schema.format.as_deref(), Some("uint" | "uint32" | "uint64")) {
        schema.format = Some("int64".to_owned());
    }
    let properties = schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut());
    properties.for_each(use_known_formats);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => use_known_formats(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => {
            items.iter_mut().for_each(use_known_formats)
        }
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        use_known_formats(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_one_that_kubernetes_knows() {
        for definition in definitions() {
            let text = serde_json::to_string(&definition).unwrap();
            assert!(!text.contains("\"uint"), "{text}");
        }
    }
}
