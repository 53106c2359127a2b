//! The operator: namespace, rights, policies, trust, Deployment and Service.

mod policy;
mod rights;

use airside_image_operator::{OPERATOR, PORT};
use airside_kube_objects::{Manifest, meta, pod, strings};
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentSpec},
    core::v1::{Container, Namespace, PodSpec},
};

use crate::{
    check::{InstallError, check_image, check_namespace},
    services::service,
    trust::{TRUST_FILE, trust_config_map, trust_mount, trust_volume},
};

/// Choices of an administrator about the operator.
#[derive(Clone, Debug)]
pub struct OperatorInstall {
    pub namespace: String,
    /// Airside's own image, by the name that nodes pull.
    pub image: String,
    pub replicas: u32,
    /// Further options of `airside images operator`.
    pub options: Vec<String>,
    /// Certificates by which registries are trusted beside the public ones, as PEM.
    pub certificates: Option<String>,
    /// The only namespaces whose pull secrets are read; every namespace if none is named.
    pub secret_namespaces: Vec<String>,
}

/// Name of the port at which agents ask for pulls.
const PULLS: &str = "pulls";

impl OperatorInstall {
    /// Returns every object of the operator but the definitions of its custom resources.
    pub fn manifest(&self) -> Result<Manifest, InstallError> {
        self.check()?;
        let namespace = &self.namespace;
        let mut manifest = Manifest::new()
            .with_comment(
                "Agents mount directories of their nodes, which clusters may forbid otherwise.",
                &self.namespace_object(),
            )
            .and(rights::rights(self))
            .and(policy::policy(namespace));
        if let Some(certificates) = &self.certificates {
            manifest = manifest.with(&trust_config_map(namespace, certificates));
        }
        Ok(manifest
            .with(&service(namespace, OPERATOR, PULLS, PORT))
            .with(&self.deployment()))
    }

    fn check(&self) -> Result<(), InstallError> {
        for name in std::iter::once(&self.namespace).chain(&self.secret_namespaces) {
            check_namespace(name)?;
        }
        check_image(&self.image)?;
        let is_pem = |text: &String| text.contains("-----BEGIN CERTIFICATE-----");
        if self.certificates.as_ref().is_none_or(is_pem) {
            Ok(())
        } else {
            Err(InstallError::Certificates)
        }
    }

    fn namespace_object(&self) -> Namespace {
        let mut metadata = meta::cluster_wide(&self.namespace);
        let labels = [
            ("app.kubernetes.io/part-of", "airside-images"),
            ("pod-security.kubernetes.io/enforce", "privileged"),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        metadata.labels = Some(labels.into());
        Namespace {
            metadata,
            ..Namespace::default()
        }
    }

    fn deployment(&self) -> Deployment {
        let trusts = self.certificates.is_some();
        let spec = PodSpec {
            service_account_name: Some(OPERATOR.to_owned()),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(10),
            security_context: Some(pod::unprivileged_pod()),
            containers: vec![self.container()],
            volumes: trusts.then(|| vec![trust_volume()]),
            ..PodSpec::default()
        };
        Deployment {
            metadata: meta::labelled(&self.namespace, OPERATOR),
            spec: Some(DeploymentSpec {
                replicas: Some(i32::try_from(self.replicas).unwrap_or(i32::MAX)),
                selector: meta::name_selector(OPERATOR),
                template: pod::template(OPERATOR, spec),
                ..DeploymentSpec::default()
            }),
            ..Deployment::default()
        }
    }

    fn container(&self) -> Container {
        let trusts = self.certificates.is_some();
        Container {
            name: "operator".to_owned(),
            image: Some(self.image.clone()),
            args: Some(self.args()),
            env: Some(vec![
                pod::env_of_field("POD_NAMESPACE", "metadata.namespace"),
                pod::env_of_field("POD_NAME", "metadata.name"),
            ]),
            ports: Some(vec![pod::port(PULLS, PORT)]),
            readiness_probe: Some(pod::https_probe("/healthz", PULLS)),
            resources: Some(pod::resources("20m", "64Mi", "512Mi")),
            security_context: Some(pod::locked_container()),
            volume_mounts: trusts.then(|| vec![trust_mount()]),
            ..Container::default()
        }
    }

    fn args(&self) -> Vec<String> {
        let mut args = strings(&["images", "operator"]);
        args.push(format!("--listen=0.0.0.0:{PORT}"));
        if self.certificates.is_some() {
            args.push(format!("--ca-file={TRUST_FILE}"));
        }
        args.extend(self.options.iter().cloned());
        args
    }
}

#[cfg(test)]
mod tests;
