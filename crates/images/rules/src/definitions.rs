//! The custom resources as API servers take them without a word.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt as _;

use crate::{ImageSet, NodeImages};

/// `ImageSet` and `NodeImages`.
pub fn definitions() -> [CustomResourceDefinition; 2] {
    [ImageSet::crd(), NodeImages::crd()].map(|mut definition| {
        for version in &mut definition.spec.versions {
            let schema = version.schema.as_mut();
            if let Some(schema) = schema.and_then(|it| it.open_api_v3_schema.as_mut()) {
                tidy(schema);
            }
        }
        definition
    })
}

/// Kubernetes knows signed numbers only, and warns about others; that they are not negative says their minimum.
fn tidy(schema: &mut JSONSchemaProps) {
    if matches!(schema.format.as_deref(), Some("uint" | "uint32" | "uint64")) {
        schema.format = Some("int64".to_owned());
    }
    let properties = schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut());
    properties.for_each(tidy);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => tidy(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
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
