//! Options of `airside images install` for the mirror.

use airside_image_install::{MirrorBucket, MirrorInstall, NodeMirrorInstall};
use airside_mirror::{Registry, StoragePlace};
use anyhow::Result;
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Mirror of registries")]
pub(crate) struct MirrorOptions {
    /// Registry that nodes pull through the mirror: HOST, HOST=URL, or * for all. Can be repeated
    #[arg(long, value_name = "REGISTRY")]
    mirror_registry: Vec<Registry>,

    /// Install no mirror: nodes share images with each other and fetch the rest from the registry
    #[arg(
        long,
        requires = "mirror_registry",
        conflicts_with_all = ["mirror_storage", "mirror_claim"]
    )]
    mirror_nodes_alone: bool,

    /// Let the mirror resolve tags, also while a registry is unreachable
    #[arg(long, requires = "mirror_registry")]
    mirror_tags: bool,

    /// Bucket for the mirror's images, s3://BUCKET/PREFIX, which its replicas share [default: the
    /// pod's own disk]
    #[arg(long, value_name = "BUCKET", requires = "mirror_registry")]
    mirror_storage: Option<String>,

    /// PersistentVolumeClaim for the mirror's images, instead of a bucket
    #[arg(
        long,
        value_name = "CLAIM",
        requires = "mirror_registry",
        conflicts_with = "mirror_storage"
    )]
    mirror_claim: Option<String>,

    /// Region of the bucket
    #[arg(long, value_name = "REGION", default_value = "us-east-1")]
    mirror_s3_region: String,

    /// URL of the bucket's service, if it is not AWS
    #[arg(long, value_name = "URL", requires = "mirror_storage")]
    mirror_s3_endpoint: Option<String>,

    /// Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
    #[arg(long, value_name = "NAME", requires = "mirror_storage")]
    mirror_s3_secret: Option<String>,

    /// Maximum number of mirror replicas, by their load; requires a bucket
    #[arg(
        long,
        value_name = "N",
        alias = "mirror-most-replicas",
        default_value_t = 5
    )]
    mirror_max_replicas: u32,
}

/// Settings that all parts of an installation share.
pub(crate) struct Placed<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) image: &'a str,
    /// True if the user gave CA certificates.
    pub(crate) own_authority: bool,
}

impl MirrorOptions {
    /// Returns the node agents' part; none if nothing is mirrored.
    pub(crate) fn part(
        &self,
        place: &Placed<'_>,
        mirror: Option<&MirrorInstall>,
    ) -> Option<NodeMirrorInstall> {
        (!self.mirror_registry.is_empty()).then(|| NodeMirrorInstall {
            namespace: place.namespace.to_owned(),
            registries: self.mirror_registry.clone(),
            mirror: mirror.map(MirrorInstall::address),
            tags: self.mirror_tags,
            own_authority: place.own_authority,
        })
    }

    /// Returns the Deployment of the mirror, if one is wanted.
    pub(crate) fn deployment(&self, place: &Placed<'_>) -> Result<Option<MirrorInstall>> {
        if self.mirror_registry.is_empty() || self.mirror_nodes_alone {
            return Ok(None);
        }
        Ok(Some(MirrorInstall {
            namespace: place.namespace.to_owned(),
            image: place.image.to_owned(),
            own_authority: place.own_authority,
            registries: self.mirror_registry.clone(),
            claim: self.mirror_claim.clone(),
            ahead: true,
            bucket: self.bucket()?,
        }))
    }

    fn bucket(&self) -> Result<Option<MirrorBucket>> {
        let Some(storage) = &self.mirror_storage else {
            return Ok(None);
        };
        match storage.parse()? {
            StoragePlace::Folder(_) => {
                anyhow::bail!(
                    "--mirror-storage expects a bucket, s3://BUCKET/PREFIX; use --mirror-claim for a volume"
                )
            }
            StoragePlace::Bucket { .. } => Ok(Some(MirrorBucket {
                storage: storage.clone(),
                region: self.mirror_s3_region.clone(),
                endpoint: self.mirror_s3_endpoint.clone(),
                secret: self.mirror_s3_secret.clone(),
                replicas: (2, self.mirror_max_replicas.max(2)),
            })),
        }
    }
}
