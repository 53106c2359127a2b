//! KnownRanges builds of one job.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use airside_model::{JobId, ResourceId};

use super::known::{KnownRanges, OrderKey, after, before};
use crate::history::{LastUse, Succeeded, WalkSubject};
use crate::question::Used;
use crate::{BuildKey, Carried, NameId};

#[derive(Debug, Default)]
pub(super) struct JobView {
    /// Succeeded builds with what they carry.
    builds: BTreeMap<BuildKey, Box<[Carried]>>,
    /// Builds by what they carry, with the ranges in which all of them are known.
    walks: HashMap<WalkSubject, Walked>,
    used: HashMap<(NameId, Carried), bool>,
    last_uses: HashMap<ResourceId, Option<Used>>,
}

#[derive(Debug, Default)]
struct Walked {
    builds: BTreeSet<BuildKey>,
    known: KnownRanges<BuildKey>,
}

impl JobView {
    pub(super) fn size(&self) -> usize {
        self.builds.len() + self.used.len() + self.walks.len()
    }

    pub(super) fn was_used(&self, input: NameId, carried: Carried) -> Option<bool> {
        self.used.get(&(input, carried)).copied()
    }

    pub(super) fn last_use(&self, resource: ResourceId) -> Option<Option<LastUse<'_>>> {
        let known = self.last_uses.get(&resource)?;
        Some(known.as_ref().map(|last| LastUse {
            order: last.order,
            pipes: &last.pipes,
        }))
    }

    fn build(&self, key: &BuildKey) -> Option<Succeeded<'_>> {
        let carried = self.builds.get(key)?;
        Some(Succeeded { key: *key, carried })
    }

    /// `Err` has the key from which on nothing is known.
    pub(super) fn older(
        &self,
        carrying: WalkSubject,
        than: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, BuildKey> {
        let mut from = before(than);
        let walked = self.walks.get(&carrying).ok_or(from)?;
        loop {
            let (low, _) = walked.known.around(from).ok_or(from)?;
            if let Some(key) = walked.builds.range(low..=from).next_back() {
                return Ok(self.build(key));
            }
            if low == BuildKey::LOWEST {
                return Ok(None);
            }
            from = low.previous();
        }
    }

    pub(super) fn newer(
        &self,
        carrying: WalkSubject,
        than: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, BuildKey> {
        let mut from = after(than);
        let walked = self.walks.get(&carrying).ok_or(from)?;
        loop {
            let (_, high) = walked.known.around(from).ok_or(from)?;
            if let Some(key) = walked.builds.range(from..=high).next() {
                return Ok(self.build(key));
            }
            if high == BuildKey::HIGHEST {
                return Ok(None);
            }
            from = high.next();
        }
    }

    pub(super) fn learn_build(&mut self, key: BuildKey, carried: Vec<Carried>) {
        for one in &carried {
            for carrying in [
                WalkSubject::Resource(one.resource),
                WalkSubject::Version(*one),
            ] {
                if let Some(walked) = self.walks.get_mut(&carrying) {
                    walked.builds.insert(key);
                }
            }
        }
        self.builds.insert(key, carried.into());
    }

    /// Everything between these keys is known once the builds that come with it are.
    pub(super) fn learn_stretch(&mut self, carrying: WalkSubject, low: BuildKey, high: BuildKey) {
        self.walks.entry(carrying).or_default().known.add(low, high);
    }

    pub(super) fn learn_used(&mut self, input: NameId, carried: Carried, used: bool) {
        self.used.insert((input, carried), used);
    }

    pub(super) fn learn_last_use(&mut self, resource: ResourceId, used: Option<Used>) {
        self.last_uses.insert(resource, used);
    }

    /// A build began with these inputs. What was not known stays so.
    pub(super) fn use_input(&mut self, resource: ResourceId, used: &Used) {
        let Some(last) = self.last_uses.get_mut(&resource) else {
            return;
        };
        if last.as_ref().is_none_or(|last| last.order <= used.order) {
            *last = Some(used.clone());
        }
    }

    pub(super) fn forget_last_use(&mut self, resource: ResourceId) {
        self.last_uses.remove(&resource);
    }
}

/// One upstream build for each job: the newest.
pub(super) fn newest_pipes(pipes: &[(JobId, BuildKey)]) -> Vec<(JobId, BuildKey)> {
    let mut newest: BTreeMap<JobId, BuildKey> = BTreeMap::new();
    for (job, key) in pipes {
        let entry = newest.entry(*job).or_insert(*key);
        *entry = (*entry).max(*key);
    }
    newest.into_iter().collect()
}
