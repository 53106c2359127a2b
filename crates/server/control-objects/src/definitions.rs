//! The definitions of the kinds, in the form that API servers accept without a warning.

use airside_kube_objects::schema::{use_known_formats, without_nulls};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::{ClusterBuild, ClusterJob, ClusterPipeline};

/// Returns the definitions of `Pipeline`, `PipelineJob` and `PipelineBuild`.
pub fn definitions() -> [CustomResourceDefinition; 3] {
    let all = [
        ClusterPipeline::crd(),
        ClusterJob::crd(),
        ClusterBuild::crd(),
    ];
    all.map(|mut definition| {
        for version in &mut definition.spec.versions {
            let schema = version.schema.as_mut();
            if let Some(schema) = schema.and_then(|it| it.open_api_v3_schema.as_mut()) {
                use_known_formats(schema);
                without_nulls(schema);
            }
        }
        definition
    })
}
