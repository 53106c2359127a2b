//! The pods of an object: by the labels that its controller writes, or else by their owners.

use airside_blocking_http::encode;
use serde_json::Value;

use super::super::{apply::FIELD_MANAGER, kinds::ObjectKind, names::text, settings::FollowChoice};

/// The pods of the namespace that are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FollowedPods {
    /// The pods that a query of the API server selects.
    Selected(String),
    /// The pods whose owners lead to the object.
    Owned,
}

/// Kinds whose controllers write a label with the object's name on its pods.
const BY_NAME: &[(&str, &str, &str)] = &[
    ("argoproj.io", "Workflow", "workflows.argoproj.io/workflow"),
    ("kpack.io", "Build", "kpack.io/build"),
    ("kpack.io", "Image", "image.kpack.io/image"),
    (
        "serving.knative.dev",
        "Service",
        "serving.knative.dev/service",
    ),
    ("tekton.dev", "PipelineRun", "tekton.dev/pipelineRun"),
    ("tekton.dev", "TaskRun", "tekton.dev/taskRun"),
];

/// Kinds that end, together with their pods.
const RUNS: &[(&str, &str)] = &[
    ("", "Pod"),
    ("argoproj.io", "Workflow"),
    ("batch", "Job"),
    ("kpack.io", "Build"),
    ("kpack.io", "Image"),
    ("tekton.dev", "PipelineRun"),
    ("tekton.dev", "TaskRun"),
];

fn place(object: &Value) -> (String, String) {
    let kind = ObjectKind::of_object(object);
    kind.map(|kind| (kind.group, kind.kind)).unwrap_or_default()
}

/// Returns true if the object's pods end when it does.
pub(super) fn is_run(object: &Value) -> bool {
    let (group, kind) = place(object);
    RUNS.contains(&(group.as_str(), kind.as_str()))
}

/// Returns the moment from which on pods are this put's. The pods of a run are all its own; others
/// replace pods that were there before, so that the last change of ours counts.
pub(super) fn since(object: &Value) -> String {
    let (group, kind) = place(object);
    let created = text(object, "/metadata/creationTimestamp");
    let has_own_pods = is_run(object) && (group.as_str(), kind.as_str()) != ("kpack.io", "Image");
    let fields = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let ours = fields.into_iter().flatten().filter(|entry| {
        text(entry, "/manager") == FIELD_MANAGER && text(entry, "/subresource").is_empty()
    });
    let changed = ours.map(|entry| text(entry, "/time")).max();
    let changed = changed.filter(|_| !has_own_pods);
    changed.unwrap_or(created).max(created).to_owned()
}

impl FollowedPods {
    /// Returns the pods of an object; none for kinds of Kubernetes itself that have no pods.
    pub(super) fn of(object: &Value, choice: &FollowChoice) -> Option<Self> {
        let by_labels =
            |labels: &str| Self::Selected(format!("labelSelector={}", encode(labels, b"")));
        if let Some(labels) = &choice.selector {
            return Some(by_labels(labels));
        }
        let (group, kind) = place(object);
        let name = text(object, "/metadata/name");
        let is_it = |(of, named, _): &&(&str, &str, &str)| *of == group && *named == kind;
        if let Some((_, _, label)) = BY_NAME.iter().find(is_it) {
            return Some(by_labels(&format!("{label}={name}")));
        }
        match (group.as_str(), kind.as_str()) {
            ("", "Pod") => {
                let field = encode(&format!("metadata.name={name}"), b"");
                Some(Self::Selected(format!("fieldSelector={field}")))
            }
            ("batch", "Job") => {
                let uid = text(object, "/metadata/uid");
                Some(by_labels(&format!(
                    "batch.kubernetes.io/controller-uid={uid}"
                )))
            }
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => {
                selector(object.pointer("/spec/selector")?).map(|labels| by_labels(&labels))
            }
            // Kubernetes' own groups have no dot, or end in .k8s.io.
            (group, _) if !group.contains('.') || group.ends_with(".k8s.io") => None,
            _ => Some(Self::Owned),
        }
    }

    /// Returns the selector's part of a query.
    pub(super) fn query(&self) -> String {
        match self {
            Self::Selected(query) => query.clone(),
            Self::Owned => String::new(),
        }
    }
}

/// Writes a selector of an object as a query has it.
fn selector(selector: &Value) -> Option<String> {
    let mut parts = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        parts.push(format!("{key}={}", value.as_str()?));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = text(expression, "/key");
        let values = expression.get("values").and_then(Value::as_array);
        let values: Vec<&str> = values
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let values = values.join(",");
        parts.push(match text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    (!parts.is_empty()).then(|| parts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(object: &Value) -> Option<String> {
        let pods = FollowedPods::of(object, &FollowChoice::default());
        pods.map(|pods| pods.query().replace("%2F", "/").replace("%3D", "="))
    }

    #[test]
    fn pods_are_found_by_what_controllers_write() {
        let object = |api_version: &str, kind: &str| {
            json!({
                "apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "uid": "u"},
                "spec": {"selector": {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "t", "operator": "Exists"}]}},
            })
        };
        for (api_version, kind, query) in [
            ("v1", "Pod", Some("fieldSelector=metadata.name=a")),
            (
                "batch/v1",
                "Job",
                Some("labelSelector=batch.kubernetes.io/controller-uid=u"),
            ),
            ("apps/v1", "Deployment", Some("labelSelector=app=x%2Ct")),
            (
                "tekton.dev/v1",
                "PipelineRun",
                Some("labelSelector=tekton.dev/pipelineRun=a"),
            ),
            (
                "kpack.io/v1alpha2",
                "Image",
                Some("labelSelector=image.kpack.io/image=a"),
            ),
            ("example.com/v1", "Thing", Some("")),
            ("v1", "ConfigMap", None),
            ("networking.k8s.io/v1", "Ingress", None),
        ] {
            let found = found(&object(api_version, kind));
            assert_eq!(found.as_deref(), query, "{kind}");
        }
    }

    #[test]
    fn pods_of_another_put_are_older() {
        let object = |kind: &str| {
            json!({
                "apiVersion": if kind == "Job" { "batch/v1" } else { "apps/v1" }, "kind": kind,
                "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [
                    {"manager": "other", "time": "2026-03-01T00:00:00Z"},
                    {"manager": "airside", "time": "2026-02-01T00:00:00Z"},
                ]},
            })
        };
        assert_eq!(since(&object("Job")), "2026-01-01T00:00:00Z");
        assert_eq!(since(&object("Deployment")), "2026-02-01T00:00:00Z");
    }
}
