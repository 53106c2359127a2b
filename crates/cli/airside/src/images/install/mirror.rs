//! What `airside images install` can be told about the mirror.

use airside_image_install::{MirrorBucket, MirrorInstall, NodeMirrorInstall};
use airside_mirror::{Registry, StoragePlace};
use anyhow::Result;
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "A mirror of registries, from which nodes pull")]
pub(crate) struct MirrorOptions {
    /// A registry that is mirrored in the cluster, and asked by every node through the mirror: HOST, HOST=URL or *
    /// (repeatable)
    #[arg(long, value_name = "REGISTRY")]
    mirror_registry: Vec<Registry>,

    /// No mirror: nodes give each other what they have, and ask the registry for the rest
    #[arg(
        long,
        requires = "mirror_registry",
        conflicts_with_all = ["mirror_storage", "mirror_claim"]
    )]
    mirror_nodes_alone: bool,

    /// The mirror says what tags mean, also while a registry is away
    #[arg(long, requires = "mirror_registry")]
    mirror_tags: bool,

    /// A bucket for what it keeps, s3://BUCKET/PREFIX, which several replicas share [default: the pod's own disk]
    #[arg(long, value_name = "PLACE", requires = "mirror_registry")]
    mirror_storage: Option<String>,

    /// A PersistentVolumeClaim for it instead
    #[arg(
        long,
        value_name = "NAME",
        requires = "mirror_registry",
        conflicts_with = "mirror_storage"
    )]
    mirror_claim: Option<String>,

    /// The bucket's region
    #[arg(long, value_name = "NAME", default_value = "us-east-1")]
    mirror_s3_region: String,

    /// Where the bucket is, if not at AWS
    #[arg(long, value_name = "URL", requires = "mirror_storage")]
    mirror_s3_endpoint: Option<String>,

    /// A Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
    #[arg(long, value_name = "NAME", requires = "mirror_storage")]
    mirror_s3_secret: Option<String>,

    /// With a bucket: how many replicas there are at most, by their load
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    mirror_most_replicas: u32,
}

/// What holds for all parts of an installation.
pub(crate) struct Placed<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) image: &'a str,
    /// There are certificates of the user's own.
    pub(crate) own_authority: bool,
}

impl MirrorOptions {
    /// What agents do about it; none if nothing is mirrored.
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

    /// None if there is to be no mirror.
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
                    "--mirror-storage takes a bucket, s3://BUCKET/PREFIX; for a volume there is --mirror-claim"
                )
            }
            StoragePlace::Bucket { .. } => Ok(Some(MirrorBucket {
                storage: storage.clone(),
                region: self.mirror_s3_region.clone(),
                endpoint: self.mirror_s3_endpoint.clone(),
                secret: self.mirror_s3_secret.clone(),
                replicas: (2, self.mirror_most_replicas.max(2)),
            })),
        }
    }
}
