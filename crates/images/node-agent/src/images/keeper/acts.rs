//! Changes that a turn makes in the runtime and to the node's labels.

use std::{collections::BTreeMap, time::Instant};

use airside_containerd::{Containerd, ContainerdError};
use airside_image_rules::plan::{Plan, Step};
use airside_model::chain;
use jiff::Timestamp;
use tracing::{info, warn};

use super::{ECHO, GRACE, Keeper, Observation, WrittenLabels};
use crate::images::{
    marks::{self, RuntimeLists},
    memory::Pulling,
    wanted::DesiredPull,
    watch::DesiredState,
};

impl Keeper {
    /// Adopts images that an earlier agent was pulling when it ended: it could not mark them any
    /// more.
    pub(super) async fn adopt_broken_off(
        &mut self,
        observation: &Observation,
        wants: &[DesiredPull],
    ) -> Result<bool, ContainerdError> {
        let broken_off = std::mem::take(&mut self.memory.broken_off);
        let mut has_acted = false;
        for wanted in wants.iter().map(|want| &want.wanted) {
            let Some(since) = broken_off.get(&wanted.content.to_string()) else {
                continue;
            };
            let by_id = observation
                .lists
                .names
                .iter()
                .find(|name| name.name == wanted.id);
            let Some(by_id) = by_id.filter(|name| !name.labels.contains_key(marks::NAMES)) else {
                continue;
            };
            let names = marks::with_names(by_id, &[&wanted.content, &wanted.name]);
            let marks = [
                (marks::NAMES, Some(names)),
                (marks::PULLED, Some(since.to_string())),
            ];
            self.runtime.label(&wanted.id, &marks).await?;
            has_acted = true;
        }
        Ok(has_acted)
    }

    /// Pins, and names that we gave to content of others: what needs no label to go first.
    pub(super) async fn settle(
        &self,
        known: &DesiredState,
        observation: &Observation,
        plan: &Plan,
    ) -> Result<bool, ContainerdError> {
        let mut has_acted = false;
        for step in &plan.steps {
            let (id, change) = match step {
                Step::Pin { id } => (id, Some("pinned")),
                Step::Unpin { id } => (id, None),
                Step::Remove { .. } | Step::Pull(_) => continue,
            };
            let value = change.map(str::to_owned);
            let ours = change.map(|_| "true".to_owned());
            let marks = [(marks::PINNED, value), (marks::OUR_PIN, ours)];
            has_acted |= self.worked(self.runtime.label(id, &marks).await, id)?;
        }
        let is_wanted = |id: &str| known.wants.iter().any(|want| want.wanted.id == id);
        for id in observation.lists.strangers(is_wanted) {
            for name in observation.lists.departure(&id).names {
                self.worked(self.runtime.forget(&name).await, &id)?;
            }
            let done = self.runtime.label(&id, &[(marks::NAMES, None)]).await;
            has_acted |= self.worked(done, &id)?;
        }
        Ok(has_acted)
    }

    /// Returns false if the change of one image failed, which must not hold up the others.
    fn worked(&self, done: Result<(), ContainerdError>, id: &str) -> Result<bool, ContainerdError> {
        match done {
            Ok(()) => Ok(true),
            Err(ContainerdError::Away(words)) => Err(ContainerdError::Away(words)),
            Err(error) => {
                warn!(
                    id,
                    error = %chain(&error),
                    "image not changed"
                );
                Ok(false)
            }
        }
    }

    /// One write, and only if something is different; false if it did not work.
    pub(super) async fn label(&mut self, known: &DesiredState, plan: &Plan) -> bool {
        let labels = plan.labels.iter();
        let labels: BTreeMap<String, String> = labels
            .map(|(key, presence)| (key.clone(), presence.value().to_owned()))
            .collect();
        let node = &known.node;
        let is_written = self.written_labels.as_ref().is_some_and(|written| {
            written.labels == labels && written.node == node.uid && written.at.elapsed() < ECHO
        });
        if node.labels == labels || is_written {
            return true;
        }
        if let Err(error) = self.cluster.label(&labels).await {
            warn!(
                error = %chain(&error),
                "labels of the node not written"
            );
            return false;
        }
        self.written_labels = Some(WrittenLabels {
            node: node.uid.clone(),
            labels,
            at: Instant::now(),
        });
        true
    }

    /// Removes images whose label has been gone for long enough, and that no container has begun to
    /// use since.
    pub(super) async fn remove(
        &mut self,
        known: &DesiredState,
        observation: &Observation,
        plan: &Plan,
    ) -> Result<bool, ContainerdError> {
        let ids = plan.steps.iter().filter_map(|step| match step {
            Step::Remove { id } => Some(id.clone()),
            _ => None,
        });
        let ids: Vec<String> = ids.collect();
        self.leaving.retain(|id, _| ids.contains(id));
        let mut has_acted = false;
        for id in ids {
            let since = *self.leaving.entry(id.clone()).or_insert_with(Instant::now);
            if since.elapsed() < GRACE {
                continue;
            }
            let containers = self.runtime.containers().await?;
            let now = RuntimeLists {
                containers,
                images: observation.lists.images.clone(),
                names: Vec::new(),
            };
            if now
                .found()
                .iter()
                .any(|found| found.id == id && found.in_use)
            {
                continue;
            }
            let done = depart(&self.runtime, &observation.lists, &id).await;
            if self.worked(done, &id)? {
                info!(id, "image removed");
                has_acted = true;
                self.leaving.remove(&id);
                let wanted = known.wants.iter().filter(|want| want.wanted.id == id);
                wanted.for_each(|want| self.memory.collected(&want.wanted));
            }
        }
        Ok(has_acted)
    }

    pub(super) fn pull(&mut self, plan: &Plan, wants: &[DesiredPull]) {
        for step in &plan.steps {
            let Step::Pull(wanted) = step else { continue };
            let content = wanted.content.to_string();
            let want = wants.iter().find(|want| want.wanted == *wanted);
            let Some(want) = want.filter(|_| !self.memory.pulling.contains_key(&content)) else {
                continue;
            };
            let task = self.pulls.spawn(airside_tasks::named(
                "pull",
                self.puller.clone().pull(want.clone()),
            ));
            let since = Timestamp::now();
            self.memory.pulling.insert(content, Pulling { since, task });
        }
    }
}

/// Removes an image of ours: the names that we gave it, and the whole image if it has no other
/// name.
pub(crate) async fn depart(
    runtime: &Containerd,
    lists: &RuntimeLists,
    id: &str,
) -> Result<(), ContainerdError> {
    let departure = lists.departure(id);
    for name in &departure.names {
        runtime.forget(name).await?;
    }
    if departure.others_stay {
        unmark(runtime, id).await
    } else {
        runtime.forget(id).await
    }
}

/// Leaves the image, and nothing of ours at it.
pub(crate) async fn unmark(runtime: &Containerd, id: &str) -> Result<(), ContainerdError> {
    let Some(image) = runtime.name(id).await? else {
        return Ok(());
    };
    let mut changes = vec![(marks::PULLED, None), (marks::NAMES, None)];
    if image.labels.contains_key(marks::OUR_PIN) {
        changes.extend([(marks::PINNED, None), (marks::OUR_PIN, None)]);
    }
    runtime.label(id, &changes).await
}
