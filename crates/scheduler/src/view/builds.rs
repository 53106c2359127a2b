//! What is known of one job's builds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use airside_model::{JobId, ResourceId};

use super::known::{Known, Place, after, before};
use crate::history::{LastUse, Succeeded};
use crate::question::Used;
use crate::{BuildKey, Carried, NameId};

#[derive(Debug, Default)]
pub(super) struct JobView {
    /// Succeeded builds with what they carry. Those that only `with` knows are among them.
    builds: BTreeMap<BuildKey, Box<[Carried]>>,
    known: Known<BuildKey>,
    with: HashMap<Carried, WithView>,
    used: HashMap<(NameId, Carried), bool>,
    last_uses: HashMap<ResourceId, Option<Used>>,
}

/// The builds that carry one version.
#[derive(Debug, Default)]
struct WithView {
    builds: BTreeSet<BuildKey>,
    known: Known<BuildKey>,
}

impl JobView {
    pub(super) fn size(&self) -> usize {
        self.builds.len() + self.used.len() + self.with.len()
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
    pub(super) fn older(&self, than: BuildKey) -> Result<Option<Succeeded<'_>>, BuildKey> {
        older_in(&self.known, than, |low, from| {
            let (key, carried) = self.builds.range(low..=from).next_back()?;
            Some(Succeeded { key: *key, carried })
        })
    }

    pub(super) fn older_with(
        &self,
        carried: Carried,
        than: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, BuildKey> {
        let with = self.with.get(&carried).ok_or(before(than))?;
        older_in(&with.known, than, |low, from| {
            self.build(with.builds.range(low..=from).next_back()?)
        })
    }

    pub(super) fn newer(&self, than: BuildKey) -> Result<Option<Succeeded<'_>>, BuildKey> {
        let mut from = after(than);
        loop {
            let (_, high) = self.known.around(from).ok_or(from)?;
            if let Some((key, carried)) = self.builds.range(from..=high).next() {
                return Ok(Some(Succeeded { key: *key, carried }));
            }
            if high == BuildKey::HIGHEST {
                return Ok(None);
            }
            from = high.next();
        }
    }

    pub(super) fn learn_build(&mut self, key: BuildKey, carried: Vec<Carried>) {
        for one in &carried {
            if let Some(with) = self.with.get_mut(one) {
                with.builds.insert(key);
            }
        }
        self.builds.insert(key, carried.into());
    }

    pub(super) fn learn_stretch(&mut self, low: BuildKey, high: BuildKey) {
        self.known.add(low, high);
    }

    pub(super) fn learn_with(&mut self, carried: Carried, low: BuildKey, high: BuildKey) {
        self.with.entry(carried).or_default().known.add(low, high);
    }

    /// So that builds learnt next are noted as carrying it.
    pub(super) fn expect_with(&mut self, carried: Carried) {
        self.with.entry(carried).or_default();
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
        if last
            .as_ref()
            .is_none_or(|last| last.order <= used.order)
        {
            *last = Some(used.clone());
        }
    }

    pub(super) fn forget_last_use(&mut self, resource: ResourceId) {
        self.last_uses.remove(&resource);
    }
}

fn older_in<'a>(
    known: &Known<BuildKey>,
    than: BuildKey,
    last: impl Fn(BuildKey, BuildKey) -> Option<Succeeded<'a>>,
) -> Result<Option<Succeeded<'a>>, BuildKey> {
    let mut from = before(than);
    loop {
        let (low, _) = known.around(from).ok_or(from)?;
        if let Some(found) = last(low, from) {
            return Ok(Some(found));
        }
        if low == BuildKey::LOWEST {
            return Ok(None);
        }
        from = low.previous();
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
