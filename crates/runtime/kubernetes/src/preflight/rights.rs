//! Asks the API server for each right in use, as `kubectl auth can-i` does.

use airside_runtime::{Lack, Shape};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};

use super::{Preflight, Unknown};
use crate::rbac::{Feature, Rule};

impl Preflight {
    pub(super) async fn rights(&self) -> Result<Vec<Lack>, Unknown> {
        let mut lacks = Vec::new();
        for feature in self.target.features() {
            let Rule {
                group,
                resource,
                verbs,
            } = feature.rule();
            let mut missing = Vec::new();
            for verb in verbs {
                if !self.may(group, resource, verb).await? {
                    missing.push(*verb);
                }
            }
            if !missing.is_empty() {
                lacks.push(lack(feature, &missing, &self.target.namespace));
            }
        }
        Ok(lacks)
    }

    async fn may(&self, group: &str, resource: &str, verb: &str) -> Result<bool, Unknown> {
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
                    namespace: Some(self.target.namespace.clone()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            status: None,
        };
        let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let how = PostParams::default();
        match self.in_time(reviews.create(&how, &review)).await? {
            Ok(answer) => Ok(answer.status.is_some_and(|status| status.allowed)),
            // An account that may not even ask gets the refusal when a pod is tried.
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(true),
            Err(_) => Err(Unknown),
        }
    }
}

fn lack(feature: Feature, verbs: &[&str], namespace: &str) -> Lack {
    Lack {
        shapes: match feature {
            Feature::Core => vec![Shape::Plain],
            Feature::NetworkPolicies => vec![Shape::Hermetic],
            Feature::Resize
            | Feature::Marks
            | Feature::PullSecrets
            | Feature::Credentials
            | Feature::Images => Vec::new(),
        },
        why: format!(
            "its account may not {} {} in namespace {namespace}; `airside k8s rbac` prints what it needs",
            verbs.join(", "),
            feature.rule().resource
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_together() {
        let lack = lack(Feature::Core, &["list", "watch"], "ci");
        assert_eq!(lack.shapes, [Shape::Plain]);
        let expected = "its account may not list, watch pods in namespace ci; `airside k8s rbac` prints what \
                        it needs";
        assert_eq!(lack.why, expected);
    }
}
