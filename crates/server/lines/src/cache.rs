//! The indexes that are kept, within a bound of their memory.

use std::{collections::HashMap, sync::Arc};

use airside_model::BuildId;
use parking_lot::Mutex;

use crate::index::BuildIndex;

/// The most memory of all indexes together.
pub(crate) const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;

pub(crate) struct IndexCache {
    kept: HashMap<BuildId, KeptIndex>,
    most: usize,
    bytes: usize,
    /// Rises with each use.
    clock: u64,
}

struct KeptIndex {
    index: Arc<Mutex<BuildIndex>>,
    bytes: usize,
    used: u64,
}

impl IndexCache {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            kept: HashMap::new(),
            most,
            bytes: 0,
            clock: 0,
        }
    }

    /// Returns the index of a build, which may be empty.
    pub(crate) fn index(&mut self, build: BuildId) -> Arc<Mutex<BuildIndex>> {
        self.clock += 1;
        let kept = self.kept.entry(build).or_insert_with(|| KeptIndex {
            index: Arc::default(),
            bytes: 0,
            used: 0,
        });
        kept.used = self.clock;
        kept.index.clone()
    }

    /// Notes how large an index has become, and drops those that were not used for longest.
    pub(crate) fn note(&mut self, build: BuildId, bytes: usize) {
        if let Some(kept) = self.kept.get_mut(&build) {
            self.bytes = self.bytes - kept.bytes + bytes;
            kept.bytes = bytes;
        }
        while self.bytes > self.most {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
            let Some(build) = oldest.map(|(build, _)| *build) else {
                return;
            };
            self.remove(build);
        }
    }

    pub(crate) fn remove(&mut self, build: BuildId) {
        if let Some(kept) = self.kept.remove(&build) {
            self.bytes -= kept.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_that_was_not_used_for_longest_goes_first() {
        let mut cache = IndexCache::new(100);
        for build in [1, 2, 3] {
            cache.index(BuildId(build));
            cache.note(BuildId(build), 30);
        }
        cache.index(BuildId(1));
        cache.note(BuildId(1), 60);
        let mut kept: Vec<i64> = cache.kept.keys().map(|build| build.0).collect();
        kept.sort_unstable();
        assert_eq!((kept, cache.bytes), (vec![1, 3], 90));
        cache.note(BuildId(1), 101);
        assert_eq!((cache.kept.len(), cache.bytes), (0, 0));
    }
}
