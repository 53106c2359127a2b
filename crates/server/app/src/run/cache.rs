//! Images and task caches that are kept from one `airside run` to the next.
//!
//! ```text
//! DIR/images/…                                 see airside-rootfs; shared by all runs
//! DIR/tasks/live/<pipeline>/<cache>/<number>/  tree/ and meta.json; the highest number counts
//! DIR/tasks/tmp/…                              a folder of each run, for what is half made
//! ```
//!
//! Several runs may use it at once: what a run uses it holds by a lock, which ends with its
//! process, and everything comes into being by one rename. So a killed run leaves nothing half made
//! that another could find.

mod bound;
mod clean;
mod folder;
mod tasks;

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use airside_model::{Bytes, VolumeId, chain};
use airside_resource_types::Mirrors;
use airside_rootfs::Images;
use airside_runtime_local::{IdRange, MetadataAccess, can_show_other_ids};
use airside_store::NamedTaskCache;
use airside_volumes::{Percent, Volumes};
use anyhow::{Result, anyhow};
use clap::Args;
use sha2::{Digest as _, Sha256};

use crate::{printing::tell, workers};
pub use clean::{CacheFolder, remove};
use tasks::TaskCaches;

#[derive(Args)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheOptions {
    /// Directory in which images and task caches are kept between runs [default: airside/run in
    /// $XDG_CACHE_HOME or ~/.cache, and /var/cache/airside/run for root]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,

    /// Size of the cache above which a run removes what was unused for longest when it ends; 0
    /// keeps nothing
    #[arg(long, value_name = "BYTES", default_value = "10GiB")]
    cache_size: Bytes,

    /// Use no cache, and leave the one on the disk as it is
    #[arg(long)]
    fresh: bool,
}

impl CacheOptions {
    /// Opens the cache for runs of this pipeline file. Without `--cache-dir` a run does not need
    /// one: what is wrong with it is then only printed.
    pub(crate) fn open(&self, pipeline: &Path) -> Result<Option<Cache>, String> {
        if self.fresh {
            return Ok(None);
        }
        match (folder::prepare(self.cache_dir.as_deref()), &self.cache_dir) {
            (Ok(root), _) => Ok(Some(Cache {
                root,
                limit: self.cache_size.0,
                // Standard input has no name by which another run could know it.
                pipeline: pipeline.canonicalize().ok(),
                is_default: self.cache_dir.is_none(),
            })),
            (Err(words), Some(_)) => Err(words),
            (Err(words), None) => {
                tell(&format!(
                    "airside: nothing is kept between runs: {words}; see --cache-dir"
                ));
                Ok(None)
            }
        }
    }
}

/// A cache folder that is this user's alone.
pub(crate) struct Cache {
    root: PathBuf,
    limit: u64,
    pipeline: Option<PathBuf>,
    is_default: bool,
}

impl Cache {
    /// Opens what is in the cache, for steps whose temporary folder is `temporary`. `None` if this
    /// machine cannot use it.
    pub(crate) fn open(self, temporary: &Path, setup: Setup) -> Result<Option<OpenCache>> {
        let usable = self.check(temporary, setup.ids);
        match usable.and_then(|()| self.open_parts(setup)) {
            Ok(open) => Ok(Some(open)),
            Err(error) if self.is_default => {
                tell(&format!(
                    "airside: nothing is kept between runs: {error:#}; see --cache-dir"
                ));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn open_parts(&self, setup: Setup) -> Result<OpenCache> {
        let pipeline = self.pipeline.as_deref().map(fingerprint);
        let images = airside_rootfs::Options {
            mirrors: setup.mirrors,
            fullest: setup.fullest,
            // A private image is for the file that has its login.
            shared_by: Some(pipeline.clone().unwrap_or_else(random_name)),
            ..airside_rootfs::Options::new(workers::pullers(setup.metadata_access)?)
        };
        Ok(OpenCache {
            images: Images::open(&self.root.join("images"), images)?,
            tasks: TaskCaches::open(&self.root.join("tasks"))?,
            limit: self.limit,
            pipeline,
        })
    }

    /// Steps must not lose their own ids because the cache is on a file system that cannot show
    /// others.
    fn check(&self, temporary: &Path, ids: IdRange) -> Result<()> {
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
        if device(temporary) == device(&self.root) {
            return Ok(());
        }
        let helper = [workers::program()?.into_os_string(), "rt".into()];
        if can_show_other_ids(&helper, temporary, ids).is_err() {
            return Ok(());
        }
        can_show_other_ids(&helper, &self.root, ids).map_err(|reason| {
            anyhow!(
                "{} is on a file system whose files steps cannot see with ids of their own ({reason})",
                self.root.display()
            )
        })
    }
}

/// Settings of the images that are pulled into a cache, and of the steps that use them.
pub(crate) struct Setup {
    pub(crate) ids: IdRange,
    pub(crate) mirrors: Mirrors,
    pub(crate) fullest: Percent,
    pub(crate) metadata_access: MetadataAccess,
}

/// A cache in use. What was lent stays for as long as the value lives.
pub(crate) struct OpenCache {
    pub(crate) images: Images,
    tasks: TaskCaches,
    limit: u64,
    /// The pipeline file, as its caches are known by.
    pipeline: Option<String>,
}

impl OpenCache {
    /// Makes the pipeline's task caches volumes, and returns their names. Blocks.
    pub(crate) fn lend(&mut self, volumes: &Volumes) -> Result<Vec<NamedTaskCache>> {
        let Some(pipeline) = &self.pipeline else {
            return Ok(Vec::new());
        };
        let mut lent = Vec::new();
        for kept in self.tasks.take(pipeline)? {
            let volume = VolumeId(format!("k-{}", random_name()));
            volumes.lend(&volume, &kept.tree)?;
            lent.push(kept.facts.named(volume));
        }
        Ok(lent)
    }

    /// Keeps the caches that tasks of this run left. Their trees are moved. Blocks.
    pub(crate) fn keep(&self, caches: &[NamedTaskCache], volumes: &Volumes) {
        let Some(pipeline) = &self.pipeline else {
            return;
        };
        let left = caches
            .iter()
            .filter(|cache| !volumes.is_lent(&cache.volume));
        for cache in left {
            let Some(tree) = volumes.path(&cache.volume) else {
                continue;
            };
            if let Err(error) = self.tasks.keep(pipeline, cache, &tree) {
                tell(&format!(
                    "airside: the cache {} of task {} is not kept: {}",
                    cache.path,
                    cache.step,
                    chain(&*error)
                ));
            }
        }
    }

    /// Gives back what was lent, and removes what was unused for longest until the cache is as
    /// small as it should be. Blocks.
    pub(crate) fn shrink(mut self) -> Result<()> {
        self.tasks.release();
        bound::shrink(&self.images, &self.tasks, self.limit)?;
        Ok(())
    }
}

fn random_name() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// A name for a pipeline file that is fit for a folder.
fn fingerprint(path: &Path) -> String {
    hex::encode(Sha256::digest(path.as_os_str().as_encoded_bytes()))
}
