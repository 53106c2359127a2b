//! Making room when the disk is nearly full: above the high mark, until the low one is reached.
//!
//! What goes is what can be made again: caches and images that no build uses, those unused for
//! longest first; then containers that are only kept for people to look inside. What a running
//! build uses stays, whatever the disk looks like.

use std::time::Duration;

use airside_store::{ColdCache, now};
use airside_volumes::{Bytes, Disk};
use tracing::{info, warn};

use crate::{Collector, Kind, Result};

/// Ages at which unused caches go, in turn: the oldest first, of any kind.
const AGES: [Duration; 6] = [
    Duration::from_secs(7 * 24 * 3600),
    Duration::from_secs(24 * 3600),
    Duration::from_secs(3600),
    Duration::from_secs(600),
    Duration::from_secs(60),
    Duration::ZERO,
];

/// Number of caches that are looked for at once.
const FEW: i64 = 64;

impl Collector {
    /// Looks at the disk, and makes room if it is too full. `true`: room was made, or could not be.
    pub async fn attend_to_disk(&self) -> Result<bool> {
        let (disk, marks) = (self.disk()?, self.parts.volumes.marks());
        if !disk.is_above(marks.high) {
            return Ok(false);
        }
        warn!(
            free = %Bytes(disk.free),
            total = %Bytes(disk.total),
            high = %marks.high,
            "disk nearly full; caches are removed until there is room again"
        );
        let gone = self.make_room().await?;
        let after = self.disk()?;
        let freed = Bytes(after.free.saturating_sub(disk.free));
        if after.is_above(marks.high) {
            warn!(
                gone,
                %freed,
                free = %Bytes(after.free),
                "disk still nearly full, and no cache is left to remove; give it more room"
            );
        } else {
            info!(gone, %freed, free = %Bytes(after.free), "room made on the disk");
        }
        Ok(true)
    }

    /// Returns the use of the disk, and puts it into the metrics.
    pub(crate) fn disk(&self) -> Result<Disk> {
        let disk = self.parts.volumes.disk()?;
        self.parts.metrics.disk(disk.total, disk.free);
        Ok(disk)
    }

    fn has_room(&self) -> Result<bool> {
        Ok(!self.disk()?.is_above(self.parts.volumes.marks().low))
    }

    /// Makes room, and returns the number of things that went.
    async fn make_room(&self) -> Result<u64> {
        // What is garbage anyway.
        let mut gone = self.collect(Kind::ResourceCaches).await?;
        gone += self.collect_volumes().await?;
        for age in AGES {
            if self.has_room()? {
                return Ok(gone);
            }
            let images = self.parts.workers.collect_images(age).await;
            self.parts.metrics.collected(Kind::Images.name(), images);
            gone += images + self.give_up_caches(age).await?;
        }
        while !self.has_room()? && self.parts.workers.give_up_kept().await {
            gone += 1;
            // What they stood on.
            gone += self.give_up_caches(Duration::ZERO).await?;
            gone += self.collect_volumes().await?;
        }
        Ok(gone)
    }

    /// Gives up caches that were not used for `age`, until there is room.
    async fn give_up_caches(&self, age: Duration) -> Result<u64> {
        let mut gone = 0;
        loop {
            let coldest = self.parts.store.cold_caches(FEW).await?;
            let old = |cache: &&ColdCache| now().since(cache.used_at) >= age;
            let before = gone;
            for cache in coldest.iter().filter(old) {
                if self.has_room()? {
                    return Ok(gone);
                }
                if self.parts.store.give_up_cache(cache).await? {
                    info!(volume = %cache.volume, kind = ?cache.kind, "cache removed to make room");
                    self.remove_if_dead(&cache.volume).await?;
                    gone += 1;
                }
            }
            if gone == before {
                return Ok(gone);
            }
        }
    }
}
