//! Rules of single kinds: those of Kubernetes itself, and those that keep no convention.

mod argo;
mod cluster;
mod pod;
mod workloads;

use serde_json::Value;

use crate::{ObjectVerdict, verdict::text};

/// Kinds of Kubernetes that have a status which may stay empty for as long as they live.
const DONE_AT_ONCE: &[(&str, &str)] = &[
    ("", "PersistentVolume"),
    ("", "ResourceQuota"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("batch", "CronJob"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
];

/// The group and kind of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindName<'a> {
    group: &'a str,
    kind: &'a str,
}

impl<'a> KindName<'a> {
    pub(crate) fn of(object: &'a Value) -> Self {
        let version = text(object, "/apiVersion");
        Self {
            group: version.split_once('/').map_or("", |(group, _)| group),
            kind: text(object, "/kind"),
        }
    }

    /// Returns true if the kind's controller always says which generation it has seen, so that a
    /// status without it is none.
    pub(crate) fn always_reports_generation(&self) -> bool {
        let is_workload = matches!(
            self.kind,
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
        );
        self.group == "apps" && is_workload
    }

    /// Returns true if `Ready=False` ends the matter in this group: its controllers write
    /// `Unknown` while they are at work.
    pub(crate) fn is_final_when_not_ready(&self) -> bool {
        self.group == "kpack.io" || self.group.ends_with(".knative.dev")
    }
}

/// Judges an object by the rule of its kind, if it has one.
pub(crate) fn judge(name: &KindName<'_>, object: &Value) -> Option<ObjectVerdict> {
    let place = (name.group, name.kind);
    if DONE_AT_ONCE.contains(&place) {
        return Some(ObjectVerdict::done("Applied"));
    }
    Some(match place {
        ("", "Pod") => pod::judge(object),
        ("batch", "Job") => workloads::job(object),
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => workloads::replica_set(object),
        ("", "PersistentVolumeClaim") => cluster::volume_claim(object),
        ("", "Service") => cluster::service(object),
        ("", "Namespace") => cluster::namespace(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => cluster::definition(object),
        ("apiregistration.k8s.io", "APIService") => cluster::api_service(object),
        ("argoproj.io", "Application") => argo::application(object),
        ("argoproj.io", "Workflow") => argo::workflow(object),
        _ => return None,
    })
}
