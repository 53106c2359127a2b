//! The custom resources, in the form that API servers accept without a warning.

use airside_kube_objects::schema::use_known_formats;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
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
