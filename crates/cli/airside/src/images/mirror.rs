//! `airside images mirror`: a registry that has what others have.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use airside_mirror::{
    Ahead, Authorities, BucketSettings, Client, CollectRules, Folder, Mirror, Registries, Registry,
    S3, Storage, StoragePlace, Upstream,
};
use airside_model::chain;
use anyhow::{Context as _, Result};
use clap::Args;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use airside_app::{
    options::Observing,
    server::{self, listeners},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Install a mirror for a cluster; its pods run this command
  airside images install --mirror-registry docker.io | kubectl apply --server-side -f -

  # Mirror two registries by hand, one of them at another address
  airside images mirror --storage /var/lib/mirror \\
    --upstream docker.io --upstream r.example=http://10.0.0.1:5000";

/// Interval of garbage collection.
const COLLECT_INTERVAL: Duration = Duration::from_secs(600);

#[derive(Args)]
pub(crate) struct Options {
    /// Registry to mirror: HOST, HOST=URL, or * for every registry that is requested. Can be
    /// repeated
    #[arg(long, value_name = "REGISTRY", required = true)]
    upstream: Vec<Registry>,

    /// Storage for images: a directory, or s3://BUCKET/PREFIX, which several mirrors can share
    #[arg(
        long,
        value_name = "DIR|BUCKET",
        default_value = "/var/lib/airside-mirror"
    )]
    storage: String,

    /// Directory for images that are being fetched; with a directory as storage, on the same file
    /// system [default: `spool` in that directory; required with a bucket]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,

    /// Region of the bucket
    #[arg(long, value_name = "REGION", default_value = "us-east-1")]
    s3_region: String,

    /// URL of the bucket's service, if it is not AWS
    #[arg(long, value_name = "URL")]
    s3_endpoint: Option<String>,

    /// Address on which node agents reach the mirror
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5000", value_parser = airside_serve::listen_address)]
    listen: SocketAddr,

    /// Image to fetch before it is requested, by tag or digest. Can be repeated
    #[arg(long, value_name = "IMAGE")]
    ahead: Vec<airside_oci::Reference>,

    /// Fetch the images of the cluster's ImageSets before they are requested
    #[arg(long)]
    ahead_sets: bool,

    /// Platform to fetch with --ahead, for example linux/amd64. Can be repeated [default: all
    /// platforms]
    #[arg(long, value_name = "PLATFORM")]
    platform: Vec<String>,

    /// Days after which images that were not requested are removed
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    keep_days: u32,

    /// Maximum size of all images in gigabytes; the longest unused are removed first [default: no
    /// limit]
    #[arg(long, value_name = "GB")]
    keep_gb: Option<u32>,

    /// File with CA certificates (PEM) to trust for registries, in addition to the public ones
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::run_until_signal(&options.observing, async |shutdown| {
        serve(options, shutdown).await
    })
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    let own = options.ca_file.as_deref().map(Authorities::read);
    let own = own.transpose()?;
    let client =
        Client::new(own.as_ref()).context("cannot read the CA certificates of this machine")?;
    let upstream = Upstream::new(client, Registries::new(options.upstream.iter().cloned()));
    let (storage, spool) = storage(options, own)?;
    let mirror = Mirror::open(upstream, storage, &spool)
        .with_context(|| format!("cannot fetch images into {}", spool.display()))?;
    let listener = listeners::bind(options.listen, "--listen").await?;
    let registries: Vec<String> = options.upstream.iter().map(ToString::to_string).collect();
    info!(address = %listener.local_addr()?, registries = registries.join(" "), "image mirror started");
    airside_tasks::spawn(
        "copy ahead",
        copy(
            mirror.clone(),
            options.ahead.clone(),
            options.platform.clone(),
        ),
    );
    if options.ahead_sets {
        let client = airside_mirror::Cluster::try_default().await;
        let client =
            client.context("--ahead-sets needs the cluster's API server, which was not found")?;
        let (mirror, shutdown) = (mirror.clone(), shutdown.clone());
        airside_tasks::supervise("image sets", &shutdown.clone(), move || {
            let (mirror, client, shutdown) = (mirror.clone(), client.clone(), shutdown.clone());
            async move { mirror.follow_sets(client, &shutdown).await }
        });
    }
    let rules = CollectRules {
        unused: Duration::from_secs(u64::from(options.keep_days) * 24 * 3600),
        bytes: options.keep_gb.map(|gb| u64::from(gb) * 1_000_000_000),
    };
    {
        let (mirror, until) = (mirror.clone(), shutdown.clone());
        airside_tasks::supervise("mirror collector", &shutdown, move || {
            collect(mirror.clone(), rules, until.clone())
        });
    }
    airside_mirror::serve(listener, mirror, shutdown).await;
    Ok(())
}

/// Opens the storage of images, and returns it with the directory for images that are being
/// fetched.
fn storage(options: &Options, own: Option<Authorities>) -> Result<(Arc<dyn Storage>, PathBuf)> {
    match options.storage.parse()? {
        StoragePlace::Folder(folder) => {
            let storage = Folder::open(&folder)
                .with_context(|| format!("cannot keep images in {}", folder.display()))?;
            let spool = options.spool.clone();
            Ok((
                Arc::new(storage),
                spool.unwrap_or_else(|| folder.join("spool")),
            ))
        }
        StoragePlace::Bucket { name, prefix } => {
            let storage = S3::open(BucketSettings {
                bucket: name,
                prefix,
                region: options.s3_region.clone(),
                endpoint: options.s3_endpoint.clone(),
                keys: None,
                authorities: own,
            })?;
            let spool = options
                .spool
                .clone()
                .context("a bucket needs --spool, a folder for images that are being fetched")?;
            Ok((Arc::new(storage), spool))
        }
    }
}

/// Fetches images one after the other: no client waits for them.
async fn copy(mirror: Mirror, images: Vec<airside_oci::Reference>, platforms: Vec<String>) {
    for image in images {
        let ahead = Ahead {
            image: image.clone(),
            platforms: platforms.clone(),
        };
        match mirror.copy(&ahead).await {
            Ok(()) => info!(%image, "image copied ahead"),
            Err(error) => warn!(%image, error = %chain(&error), "image not copied ahead"),
        }
    }
}

async fn collect(mirror: Mirror, rules: CollectRules, shutdown: CancellationToken) {
    loop {
        match mirror.collect(&rules).await {
            Ok(gone) if gone.removed + gone.notes > 0 => {
                let (removed, bytes, notes) = (gone.removed, gone.bytes, gone.notes);
                info!(removed, bytes, notes, "garbage collected");
            }
            Ok(_) => {}
            Err(error) => warn!(error = %chain(&error), "garbage not collected"),
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(COLLECT_INTERVAL) => {}
        }
    }
}
