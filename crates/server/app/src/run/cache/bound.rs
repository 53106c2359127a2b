//! The size of the cache: what was unused for longest goes first.

use std::{path::PathBuf, time::SystemTime};

use airside_rootfs::{Digest, Images};
use anyhow::Result;

use super::tasks::TaskCaches;

/// Something in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CachedItem {
    Image(Digest),
    TaskCache(PathBuf),
}

#[derive(Clone, Debug)]
pub(super) struct CacheEntry {
    pub(super) item: CachedItem,
    used: SystemTime,
    pub(super) bytes: u64,
}

/// Lists all that is in the cache, the longest unused first.
pub(super) fn entries(images: &Images, tasks: &TaskCaches) -> Result<Vec<CacheEntry>> {
    let images = images.stored()?.into_iter().map(|image| CacheEntry {
        item: CachedItem::Image(image.digest),
        used: image.used,
        bytes: image.bytes,
    });
    let tasks = tasks.stored()?.into_iter().map(|cache| CacheEntry {
        item: CachedItem::TaskCache(cache.folder),
        used: cache.used,
        bytes: cache.bytes,
    });
    let mut entries: Vec<CacheEntry> = images.chain(tasks).collect();
    entries.sort_by_key(|entry| entry.used);
    Ok(entries)
}

/// Removes an entry, unless a run uses it.
pub(super) fn remove(images: &Images, tasks: &TaskCaches, item: &CachedItem) -> Result<bool> {
    match item {
        CachedItem::Image(digest) => Ok(images.remove(digest)?),
        CachedItem::TaskCache(folder) => tasks.remove(folder),
    }
}

/// Removes entries until no more than `limit` bytes are left, or all the rest is in use.
pub(super) fn shrink(images: &Images, tasks: &TaskCaches, limit: u64) -> Result<()> {
    shrink_by(entries(images, tasks)?, limit, |item| {
        remove(images, tasks, item)
    })
}

fn shrink_by(
    entries: Vec<CacheEntry>,
    limit: u64,
    mut remove: impl FnMut(&CachedItem) -> Result<bool>,
) -> Result<()> {
    let mut left: u64 = entries.iter().map(|entry| entry.bytes).sum();
    for entry in entries {
        let is_useless = entry.used == SystemTime::UNIX_EPOCH;
        if (left > limit || is_useless) && remove(&entry.item)? {
            left -= entry.bytes;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn entry(name: &str, used: u64, bytes: u64) -> CacheEntry {
        CacheEntry {
            item: CachedItem::TaskCache(name.into()),
            used: SystemTime::UNIX_EPOCH + Duration::from_secs(used),
            bytes,
        }
    }

    fn removed(limit: u64, in_use: &str) -> Vec<String> {
        let entries = vec![
            entry("superseded", 0, 1),
            entry("old", 1, 50),
            entry("newer", 2, 50),
            entry("newest", 3, 50),
        ];
        let mut removed = Vec::new();
        shrink_by(entries, limit, |item| {
            let CachedItem::TaskCache(name) = item else {
                unreachable!()
            };
            let name = name.display().to_string();
            let is_free = name != in_use;
            removed.extend(is_free.then_some(name));
            Ok(is_free)
        })
        .unwrap();
        removed
    }

    #[test]
    fn the_longest_unused_goes_first_and_no_more_than_must() {
        assert_eq!(removed(1000, ""), ["superseded"]);
        assert_eq!(removed(120, ""), ["superseded", "old"]);
        assert_eq!(removed(120, "old"), ["superseded", "newer"]);
        assert_eq!(removed(0, "newest"), ["superseded", "old", "newer"]);
    }
}
