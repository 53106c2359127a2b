//! Rules that hold for every object of an installation with all of its parts.

use std::collections::BTreeSet;

use airside_kube_objects::Manifest;
use k8s_openapi::{
    Resource,
    api::{
        admissionregistration::v1::{
            MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
        },
        apps::v1::{DaemonSet, Deployment},
        autoscaling::v2::HorizontalPodAutoscaler,
        core::v1::{ConfigMap, Namespace, Service, ServiceAccount},
        policy::v1::PodDisruptionBudget,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::*;

const NAMESPACE: &str = "airside-images";
const IMAGE: &str = "example.com/airside:1";

/// Every object that any option leads to.
fn everything() -> Manifest {
    let certificates = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n";
    let operator = OperatorInstall {
        namespace: NAMESPACE.to_owned(),
        image: IMAGE.to_owned(),
        replicas: 2,
        options: vec!["--agent-timeout=120".to_owned()],
        certificates: Some(certificates.to_owned()),
        secret_namespaces: vec!["team".to_owned()],
    };
    let mirror = MirrorInstall {
        namespace: NAMESPACE.to_owned(),
        image: IMAGE.to_owned(),
        registries: vec!["docker.io".parse().unwrap()],
        claim: None,
        ahead: true,
        own_authority: true,
        bucket: Some(MirrorBucket {
            storage: "s3://images/mirror".to_owned(),
            region: "eu-west-1".to_owned(),
            endpoint: Some("http://10.0.0.1:9000".to_owned()),
            secret: Some("bucket".to_owned()),
            replicas: (2, 5),
        }),
    };
    let mut agent = NodeAgentInstall::new(NAMESPACE, IMAGE);
    agent.mirror = Some(NodeMirrorInstall {
        namespace: NAMESPACE.to_owned(),
        registries: mirror.registries.clone(),
        mirror: Some(mirror.address()),
        tags: true,
        own_authority: true,
    });
    let admission = AdmissionInstall {
        namespace: NAMESPACE.to_owned(),
        image: IMAGE.to_owned(),
        replicas: 2,
        rewrite: Some("inside:5000".parse().unwrap()),
        workloads: true,
    };
    let registry_agent = RegistryAgentInstall {
        namespace: NAMESPACE.to_owned(),
        image: IMAGE.to_owned(),
        registry: "http://10.0.0.1:5000".parse().unwrap(),
        authorities: None,
        port: 5000,
    };
    definitions()
        .and(operator.manifest().unwrap())
        .and(mirror.manifest().unwrap())
        .and(agent.manifest().unwrap())
        .and(admission.manifest().unwrap())
        .and(placement_policy(NAMESPACE).unwrap())
        .and(registry_agent.manifest().unwrap())
}

/// The documents of the printed text. Certificates end in `---` too, but not at a line's start.
fn documents() -> Vec<Value> {
    let text = everything().to_yaml().unwrap();
    let text = text.strip_prefix("---\n").unwrap();
    let parts = text.split("\n---\n");
    parts
        .map(|part| serde_saphyr::from_str(part).unwrap())
        .collect()
}

/// Returns true if the object is of this type and has no field that the type does not know.
fn is_exactly<T: Resource + Serialize + DeserializeOwned>(object: &Value) -> bool {
    if object["kind"] != T::KIND || object["apiVersion"] != T::API_VERSION {
        return false;
    }
    let typed: T = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), *object);
    true
}

#[test]
fn what_is_printed_is_read_back_as_the_same_objects() {
    let written: Vec<Value> = everything().objects().cloned().collect();
    assert_eq!(documents(), written);
}

#[test]
fn every_object_has_a_known_type_and_no_unknown_field() {
    for object in documents() {
        let checks = [
            is_exactly::<CustomResourceDefinition>,
            is_exactly::<Namespace>,
            is_exactly::<ServiceAccount>,
            is_exactly::<ConfigMap>,
            is_exactly::<Service>,
            is_exactly::<Deployment>,
            is_exactly::<DaemonSet>,
            is_exactly::<HorizontalPodAutoscaler>,
            is_exactly::<PodDisruptionBudget>,
            is_exactly::<ClusterRole>,
            is_exactly::<ClusterRoleBinding>,
            is_exactly::<Role>,
            is_exactly::<RoleBinding>,
            is_exactly::<ValidatingAdmissionPolicy>,
            is_exactly::<ValidatingAdmissionPolicyBinding>,
            is_exactly::<MutatingWebhookConfiguration>,
            is_exactly::<MutatingAdmissionPolicy>,
            is_exactly::<MutatingAdmissionPolicyBinding>,
        ];
        assert!(checks.iter().any(|check| check(&object)), "{object}");
    }
}

#[test]
fn no_two_objects_have_one_name() {
    let mut names = BTreeSet::new();
    for object in documents() {
        let metadata = &object["metadata"];
        let name = [&object["kind"], &metadata["namespace"], &metadata["name"]];
        assert!(names.insert(name.map(Value::to_string)), "{name:?}");
    }
}

#[test]
fn every_container_is_locked_and_bounded() {
    let is_workload = |it: &&Value| it["kind"] == "Deployment" || it["kind"] == "DaemonSet";
    let documents = documents();
    let workloads: Vec<_> = documents.iter().filter(is_workload).collect();
    assert_eq!(workloads.len(), 5);
    for workload in workloads {
        let pod = &workload["spec"]["template"]["spec"];
        let labels = &workload["spec"]["template"]["metadata"]["labels"];
        assert_eq!(workload["spec"]["selector"]["matchLabels"], *labels);
        assert_eq!(
            pod["securityContext"]["seccompProfile"]["type"],
            "RuntimeDefault"
        );
        assert_eq!(pod["enableServiceLinks"], false);
        for container in pod["containers"].as_array().unwrap() {
            let context = &container["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false);
            assert_eq!(context["readOnlyRootFilesystem"], true);
            assert_eq!(context["capabilities"]["drop"], serde_json::json!(["ALL"]));
            assert!(container["resources"]["limits"]["memory"].is_string());
            assert!(container["readinessProbe"].is_object());
        }
    }
}
