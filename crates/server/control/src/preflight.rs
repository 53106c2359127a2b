//! Asks the API server for each right in use, as `kubectl auth can-i` does.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use tracing::warn;

use crate::{
    CONTROL_RIGHTS,
    link::{TeamLink, in_time},
    team::TeamParts,
};

/// Logs and counts the rights that the server lacks in a team's namespace.
pub(crate) async fn report_rights(team: &TeamParts) {
    let mut lacking = Vec::new();
    for right in CONTROL_RIGHTS {
        for verb in right.verbs {
            if may(&team.link, right.group, right.resource, verb).await == Some(false) {
                lacking.push(format!("{verb} {}", right.resource));
            }
        }
    }
    team.metrics
        .control_rights_missing(&team.link.team.team, lacking.len());
    if !lacking.is_empty() {
        warn!(
            cluster = team.link.cluster,
            namespace = team.link.team.namespace,
            lacking = lacking.join(", "),
            "rights missing; `airside k8s control-objects` prints what the server needs"
        );
    }
}

/// Asks whether the account may do something in the namespace; `None` if there is no answer.
pub(crate) async fn may(link: &TeamLink, group: &str, resource: &str, verb: &str) -> Option<bool> {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, sub)) => (resource, Some(sub.to_owned())),
        None => (resource, None),
    };
    let review = SelfSubjectAccessReview {
        metadata: ObjectMeta::default(),
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource,
                verb: Some(verb.to_owned()),
                namespace: Some(link.team.namespace.clone()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        status: None,
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(link.client.clone());
    let answer = in_time(reviews.create(&PostParams::default(), &review)).await;
    answer.ok()?.status.map(|status| status.allowed)
}
