//! `airside clean --cache`.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use airside_model::Bytes;
use airside_rootfs::Images;
use airside_runtime_local::MetadataAccess;
use anyhow::{Result, anyhow};

use super::{
    bound::{self, CachedItem},
    folder,
    tasks::TaskCaches,
};
use crate::workers;

/// The folder of a cache that is to be removed.
pub struct CacheFolder {
    path: PathBuf,
    is_there: bool,
}

impl CacheFolder {
    /// Finds it, given or by default. Call it before this process is root of a user namespace.
    pub fn find(given: Option<&Path>) -> Result<Self> {
        let path = folder::locate(given).map_err(|words| anyhow!(words))?;
        let is_there = path.exists();
        if is_there {
            folder::prepare(given).map_err(|words| anyhow!("the cache is not touched: {words}"))?;
        }
        Ok(Self { path, is_there })
    }
}

/// Removes everything from the cache that no run uses, or only says what that would be.
pub fn remove(cache: &CacheFolder, dry_run: bool, out: &mut impl Write) -> Result<()> {
    let shown = cache.path.display();
    if !cache.is_there {
        writeln!(out, "cache {shown}: there is none")?;
        return Ok(());
    }
    let options = airside_rootfs::Options {
        shared_by: Some(String::new()),
        ..airside_rootfs::Options::new(workers::pullers(MetadataAccess::Denied)?)
    };
    let images = Images::open(&cache.path.join("images"), options)?;
    let tasks = TaskCaches::open(&cache.path.join("tasks"))?;
    let (mut removed, mut in_use) = (Count::default(), Count::default());
    for entry in bound::entries(&images, &tasks)? {
        let is_removed = dry_run || bound::remove(&images, &tasks, &entry.item)?;
        let count = if is_removed {
            &mut removed
        } else {
            &mut in_use
        };
        count.add(&entry.item, entry.bytes);
    }
    let verb = if dry_run { "would remove" } else { "removed" };
    writeln!(out, "cache {shown}: {verb} {}", removed.words())?;
    if in_use.bytes > 0 {
        writeln!(out, "  kept, as a run uses it: {}", in_use.words())?;
    }
    Ok(())
}

#[derive(Default)]
struct Count {
    images: usize,
    task_caches: usize,
    bytes: u64,
}

impl Count {
    fn add(&mut self, item: &CachedItem, bytes: u64) {
        match item {
            CachedItem::Image(_) => self.images += 1,
            CachedItem::TaskCache(_) => self.task_caches += 1,
        }
        self.bytes += bytes;
    }

    fn words(&self) -> String {
        format!(
            "{} images and {} task caches, {}",
            self.images,
            self.task_caches,
            Bytes(self.bytes)
        )
    }
}
