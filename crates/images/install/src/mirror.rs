//! The mirror: Service, Deployment, and rights or an autoscaler where it has them.

mod scaling;

use airside_kube_objects::{
    Manifest, meta, pod,
    rbac::{Account, cluster_role, cluster_role_binding, rule},
    strings,
};
use airside_mirror::Registry;
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
    core::v1::{
        Container, EnvFromSource, PersistentVolumeClaimVolumeSource, PodSecurityContext, PodSpec,
        SecretEnvSource, Volume,
    },
};

use crate::{
    check::{InstallError, check_argument, check_image, check_name, check_namespace},
    services::service,
    trust::{TRUST_FILE, trust_mount, trust_volume},
};

/// Choices of an administrator about the mirror.
#[derive(Clone, Debug)]
pub struct MirrorInstall {
    pub namespace: String,
    /// Airside's own image, by the name that nodes pull.
    pub image: String,
    pub registries: Vec<Registry>,
    /// A PersistentVolumeClaim for the images; without one they are lost with the pod.
    pub claim: Option<String>,
    /// True if images of the cluster's sets are copied before a node asks for them.
    pub ahead: bool,
    /// True if the ConfigMap of the operator's installation has certificates of the user's own.
    pub own_authority: bool,
    /// A bucket instead of a volume, which several replicas share.
    pub bucket: Option<MirrorBucket>,
}

/// A bucket, and the replicas that share it.
#[derive(Clone, Debug)]
pub struct MirrorBucket {
    /// `s3://BUCKET/PREFIX`.
    pub storage: String,
    pub region: String,
    /// Address of a server that is not AWS.
    pub endpoint: Option<String>,
    /// A Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`; the pod's own identity is
    /// used without one.
    pub secret: Option<String>,
    /// Least and most replicas; a HorizontalPodAutoscaler decides by their CPU.
    pub replicas: (u32, u32),
}

const NAME: &str = "airside-images-mirror";
/// Port of the Service and of the pods.
const PORT: u16 = 5000;
const PORT_NAME: &str = "registry";
/// Directory of the images, and of those that are being fetched.
const STORAGE: &str = "/var/lib/airside-mirror";
const STORAGE_VOLUME: &str = "storage";

impl MirrorInstall {
    /// The URL at which nodes find the mirror.
    pub fn address(&self) -> String {
        format!("http://{NAME}.{}.svc:{PORT}", self.namespace)
    }

    /// Returns every object of the mirror but its namespace.
    pub fn manifest(&self) -> Result<Manifest, InstallError> {
        self.check()?;
        let mut manifest = Manifest::new();
        if self.ahead {
            manifest = manifest.and(self.rights());
        }
        manifest = manifest
            .with(&service(&self.namespace, NAME, PORT_NAME, PORT))
            .with(&self.deployment());
        if let Some(bucket) = &self.bucket {
            let (least, most) = bucket.replicas;
            manifest = manifest.with_comment(
                scaling::COMMENT,
                &scaling::autoscaler(&self.namespace, NAME, least, most),
            );
        }
        Ok(manifest)
    }

    fn check(&self) -> Result<(), InstallError> {
        check_namespace(&self.namespace)?;
        check_image(&self.image)?;
        let bucket = self.bucket.as_ref();
        let secret = bucket.and_then(|bucket| bucket.secret.as_ref());
        for name in [self.claim.as_ref(), secret].into_iter().flatten() {
            check_name(name)?;
        }
        if self.registries.is_empty() {
            return Err(InstallError::NoRegistry);
        }
        let Some(bucket) = bucket else {
            return Ok(());
        };
        if self.claim.is_some() {
            return Err(InstallError::ClaimAndBucket);
        }
        let texts = [&bucket.storage, &bucket.region];
        texts
            .into_iter()
            .chain(&bucket.endpoint)
            .try_for_each(|text| check_argument(text))
    }

    /// The mirror reads image sets, and nothing else.
    fn rights(&self) -> Manifest {
        let account = Account::new(&self.namespace, NAME);
        let rules = vec![rule(
            "images.airside.dev",
            &["imagesets"],
            &["list", "watch"],
        )];
        Manifest::new()
            .with(&account.object())
            .with(&cluster_role(NAME, rules))
            .with(&cluster_role_binding(NAME, &account))
    }

    fn deployment(&self) -> Deployment {
        // A directory has one user at a time; the autoscaler sets the replicas of a bucket.
        let (replicas, strategy) = if self.bucket.is_some() {
            (None, "RollingUpdate")
        } else {
            (Some(1), "Recreate")
        };
        Deployment {
            metadata: meta::labelled(&self.namespace, NAME),
            spec: Some(DeploymentSpec {
                replicas,
                strategy: Some(DeploymentStrategy {
                    type_: Some(strategy.to_owned()),
                    rolling_update: None,
                }),
                selector: meta::name_selector(NAME),
                template: pod::template(NAME, self.pod_spec()),
                ..DeploymentSpec::default()
            }),
            ..Deployment::default()
        }
    }

    fn pod_spec(&self) -> PodSpec {
        let mut volumes = vec![self.volume()];
        volumes.extend(self.own_authority.then(trust_volume));
        PodSpec {
            // Without sets to read it asks the API server nothing.
            service_account_name: self.ahead.then(|| NAME.to_owned()),
            automount_service_account_token: (!self.ahead).then_some(false),
            enable_service_links: Some(false),
            security_context: Some(PodSecurityContext {
                fs_group: Some(pod::UNPRIVILEGED_USER),
                ..pod::unprivileged_pod()
            }),
            containers: vec![self.container()],
            volumes: Some(volumes),
            ..PodSpec::default()
        }
    }

    fn volume(&self) -> Volume {
        let Some(claim) = &self.claim else {
            return pod::empty_volume(STORAGE_VOLUME);
        };
        Volume {
            name: STORAGE_VOLUME.to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.clone(),
                read_only: None,
            }),
            ..Volume::default()
        }
    }

    fn container(&self) -> Container {
        let mut mounts = vec![pod::mount(STORAGE_VOLUME, STORAGE)];
        mounts.extend(self.own_authority.then(trust_mount));
        let bucket = self.bucket.as_ref();
        let secret = bucket.and_then(|bucket| bucket.secret.clone());
        Container {
            name: "mirror".to_owned(),
            image: Some(self.image.clone()),
            args: Some(self.args()),
            env_from: secret.map(|name| {
                vec![EnvFromSource {
                    secret_ref: Some(SecretEnvSource {
                        name,
                        optional: None,
                    }),
                    ..EnvFromSource::default()
                }]
            }),
            ports: Some(vec![pod::port(PORT_NAME, PORT)]),
            readiness_probe: Some(pod::http_probe("/healthz", PORT_NAME)),
            resources: Some(pod::resources("50m", "64Mi", "512Mi")),
            volume_mounts: Some(mounts),
            security_context: Some(pod::locked_container()),
            ..Container::default()
        }
    }

    fn args(&self) -> Vec<String> {
        let mut args = strings(&["images", "mirror"]);
        args.push(format!("--listen=0.0.0.0:{PORT}"));
        args.push(format!("--spool={STORAGE}/spool"));
        if let Some(bucket) = &self.bucket {
            args.push(format!("--storage={}", bucket.storage));
            args.push(format!("--s3-region={}", bucket.region));
            let endpoint = bucket.endpoint.iter();
            args.extend(endpoint.map(|url| format!("--s3-endpoint={url}")));
        } else {
            args.push(format!("--storage={STORAGE}"));
        }
        if self.own_authority {
            args.push(format!("--ca-file={TRUST_FILE}"));
        }
        if self.ahead {
            args.push("--ahead-sets".to_owned());
        }
        args.extend(self.registries.iter().map(|it| format!("--upstream={it}")));
        args
    }
}

#[cfg(test)]
mod tests;
