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
  airside images install --mirror-registry docker.io | kubectl apply --server-side -f -
      one for a cluster; this command is what it runs
  airside images mirror --storage /var/lib/mirror --upstream docker.io --upstream r.example=http://10.0.0.1:5000
";

/// Between two looks for garbage.
const COLLECT: Duration = Duration::from_secs(600);

#[derive(Args)]
pub(crate) struct Options {
    /// A registry that is mirrored: HOST, HOST=URL, or * for all that are asked for
    #[arg(long, value_name = "REGISTRY", required = true)]
    upstream: Vec<Registry>,

    /// Where images are kept: a folder, or s3://BUCKET/PREFIX, which several mirrors may share
    #[arg(long, value_name = "PLACE", default_value = "/var/lib/airside-mirror")]
    storage: String,

    /// Where images are while they come; with a folder as storage on the same file system
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,

    /// With a bucket: the region it is in
    #[arg(long, value_name = "NAME", default_value = "us-east-1")]
    s3_region: String,

    /// With a bucket: where it is, if not at AWS
    #[arg(long, value_name = "URL")]
    s3_endpoint: Option<String>,

    /// Where the agents of nodes find it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5000")]
    listen: SocketAddr,

    /// An image that is copied before anybody asks for it, by tag or digest
    #[arg(long, value_name = "IMAGE")]
    ahead: Vec<airside_oci::Reference>,

    /// Copies what the cluster's ImageSets want before anybody asks for it
    #[arg(long)]
    ahead_sets: bool,

    /// With --ahead: a platform that is copied, such as linux/amd64; all if none is named
    #[arg(long, value_name = "PLATFORM")]
    platform: Vec<String>,

    /// What nobody asked for in so many days goes
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    keep_days: u32,

    /// The longest unused goes if everything is larger than so many gigabytes
    #[arg(long, value_name = "GB")]
    keep_gb: Option<u32>,

    /// Certificates of your own authority, as PEM, to trust beside the public ones
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    #[command(flatten)]
    observing: Observing,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::until_told(&options.observing, async |shutdown| {
        serve(options, shutdown).await
    })
}

async fn serve(options: &Options, shutdown: CancellationToken) -> Result<()> {
    let own = options.ca_file.as_deref().map(Authorities::read);
    let own = own.transpose()?;
    let client = Client::new(own.as_ref()).context("cannot find out whom this machine trusts")?;
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
        let client = client.context("cannot find the API server, which has the image sets")?;
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

/// What is kept, and where it is on its way.
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
                .context("give --spool, a folder for what is on its way")?;
            Ok((Arc::new(storage), spool))
        }
    }
}

/// One after the other, as nobody waits for them.
async fn copy(mirror: Mirror, images: Vec<airside_oci::Reference>, platforms: Vec<String>) {
    for image in images {
        let ahead = Ahead {
            image: image.clone(),
            platforms: platforms.clone(),
        };
        match mirror.copy(&ahead).await {
            Ok(()) => info!(%image, "image copied ahead"),
            Err(error) => warn!(error = %chain(&error), "image not copied ahead"),
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
            () = tokio::time::sleep(COLLECT) => {}
        }
    }
}
