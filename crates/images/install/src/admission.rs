//! Admission: rights, policy, Deployment, Service, disruption budget and webhooks.

mod hooks;
mod policy;
mod rights;

use airside_image_admission::{NAME, READY_PATH, Rewrite};
use airside_kube_objects::{Manifest, meta, pod, strings};
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            Affinity, Container, PodAffinityTerm, PodAntiAffinity, PodSpec, Probe,
            WeightedPodAffinityTerm,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::{
    check::{InstallError, check_image, check_namespace},
    services::service,
};

/// Choices of an administrator about admission.
#[derive(Clone, Debug)]
pub struct AdmissionInstall {
    pub namespace: String,
    /// Airside's own image, by the name that nodes pull.
    pub image: String,
    pub replicas: u32,
    pub rewrite: Option<Rewrite>,
    /// True if existing workloads are placed too, which takes a right to change all of them.
    pub workloads: bool,
}

/// Port of the pod; the Service has [`SERVICE_PORT`].
const PORT: u16 = 8443;
/// Port at which the API server asks.
const SERVICE_PORT: u16 = 443;
const PORT_NAME: &str = "https";

impl AdmissionInstall {
    /// Returns every object of admission but its namespace.
    pub fn manifest(&self) -> Result<Manifest, InstallError> {
        check_namespace(&self.namespace)?;
        check_image(&self.image)?;
        let namespace = &self.namespace;
        Ok(Manifest::new()
            .and(rights::rights(namespace, self.workloads))
            .and(policy::policy(namespace))
            .with(&self.deployment())
            .with(&service(namespace, NAME, PORT_NAME, SERVICE_PORT))
            .with(&disruption_budget(namespace))
            .with_comment(
                "Pods start as if admission were absent rather than not at all: `Ignore`.",
                &hooks::hooks(namespace),
            ))
    }

    fn deployment(&self) -> Deployment {
        let spec = PodSpec {
            service_account_name: Some(NAME.to_owned()),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(10),
            affinity: Some(on_different_nodes()),
            security_context: Some(pod::unprivileged_pod()),
            containers: vec![self.container()],
            ..PodSpec::default()
        };
        Deployment {
            metadata: meta::labelled(&self.namespace, NAME),
            spec: Some(DeploymentSpec {
                replicas: Some(i32::try_from(self.replicas).unwrap_or(i32::MAX)),
                selector: meta::name_selector(NAME),
                template: pod::template(NAME, spec),
                ..DeploymentSpec::default()
            }),
            ..Deployment::default()
        }
    }

    fn container(&self) -> Container {
        Container {
            name: "admission".to_owned(),
            image: Some(self.image.clone()),
            args: Some(self.args()),
            ports: Some(vec![pod::port(PORT_NAME, PORT)]),
            readiness_probe: Some(Probe {
                period_seconds: Some(2),
                ..pod::https_probe(READY_PATH, PORT_NAME)
            }),
            resources: Some(pod::resources("10m", "32Mi", "256Mi")),
            security_context: Some(pod::locked_container()),
            ..Container::default()
        }
    }

    fn args(&self) -> Vec<String> {
        let mut args = strings(&["images", "admission", "--namespace", &self.namespace]);
        args.extend(["--listen".to_owned(), format!("0.0.0.0:{PORT}")]);
        if let Some(rewrite) = &self.rewrite {
            args.extend(["--rewrite-to".to_owned(), rewrite.to_string()]);
        }
        if self.workloads {
            args.push("--workloads".to_owned());
        }
        args
    }
}

/// Replicas go to different nodes where there are several.
fn on_different_nodes() -> Affinity {
    let term = PodAffinityTerm {
        topology_key: "kubernetes.io/hostname".to_owned(),
        label_selector: Some(meta::name_selector(NAME)),
        ..PodAffinityTerm::default()
    };
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: term,
                },
            ]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

fn disruption_budget(namespace: &str) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: meta::namespaced(namespace, NAME),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(meta::name_selector(NAME)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

#[cfg(test)]
mod tests;
