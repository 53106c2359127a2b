//! The dashboard's state, and what changes of it: pure.

use std::{
    collections::HashMap,
    fmt::{Display, Write},
    sync::Arc,
};

use airside_model::PipelineId;
use airside_store::DashboardPipeline;

use crate::{
    LiveSight,
    item::{DashboardItem, Visibility},
};

/// All pipelines, as they were read last.
#[derive(Debug, Default)]
pub(crate) struct DashboardState {
    items: HashMap<PipelineId, DashboardItem>,
    order: Arc<Vec<(PipelineId, Visibility)>>,
}

/// The difference between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DashboardPatch {
    changed: Vec<ItemChange>,
    /// The new order, if a pipeline came or moved, or is seen by others now.
    order: Option<Arc<Vec<(PipelineId, Visibility)>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ItemChange {
    id: PipelineId,
    before: Option<Visibility>,
    after: Option<DashboardItem>,
}

fn sees(sight: &LiveSight, seen: Visibility) -> bool {
    seen.public || sight.includes(seen.team)
}

fn text<'a>(sight: &LiveSight, item: &'a DashboardItem) -> &'a str {
    if sight.includes(item.seen.team) {
        &item.insider
    } else {
        &item.outsider
    }
}

fn joined(parts: impl Iterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for part in parts {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a text does not fail.
        let _ = write!(text, "{comma}{part}");
    }
    text
}

impl DashboardState {
    pub(crate) fn has(&self, id: PipelineId) -> bool {
        self.items.contains_key(&id)
    }

    /// Takes over all pipelines. `None`: nothing is another.
    pub(crate) fn replace(&mut self, pipelines: &[DashboardPipeline]) -> Option<DashboardPatch> {
        let mut before = std::mem::take(&mut self.items);
        let mut changed = Vec::new();
        let mut order = Vec::with_capacity(pipelines.len());
        for pipeline in pipelines {
            let item = DashboardItem::new(pipeline);
            order.push((pipeline.id, item.seen));
            changed.extend(change(
                pipeline.id,
                before.remove(&pipeline.id),
                Some(&item),
            ));
            self.items.insert(pipeline.id, item);
        }
        for (id, item) in before {
            changed.extend(change(id, Some(item), None));
        }
        let moved = is_reordered(&self.order, &order);
        self.order = Arc::new(order);
        self.patch(changed, moved)
    }

    /// Takes over some pipelines; those without content are gone. A new one needs its place, and so
    /// [`Self::replace`].
    pub(crate) fn update(
        &mut self,
        pipelines: &[(PipelineId, Option<DashboardPipeline>)],
    ) -> Option<DashboardPatch> {
        let (mut changed, mut is_seen_by_others) = (Vec::new(), false);
        for (id, pipeline) in pipelines {
            let item = pipeline.as_ref().map(DashboardItem::new);
            let before = self.items.remove(id);
            let visible = |item: &Option<DashboardItem>| item.as_ref().map(|item| item.seen);
            is_seen_by_others |= visible(&before) != visible(&item);
            changed.extend(change(*id, before, item.as_ref()));
            if let Some(item) = item {
                self.items.insert(*id, item);
            }
        }
        let mut moved = false;
        if is_seen_by_others {
            let order = self.order.iter();
            let kept: Vec<_> = order
                .filter_map(|(id, _)| Some((*id, self.items.get(id)?.seen)))
                .collect();
            moved = is_reordered(&self.order, &kept);
            self.order = Arc::new(kept);
        }
        self.patch(changed, moved)
    }

    fn patch(&self, changed: Vec<ItemChange>, moved: bool) -> Option<DashboardPatch> {
        let order = moved.then(|| self.order.clone());
        (moved || !changed.is_empty()).then_some(DashboardPatch { changed, order })
    }

    /// Returns the items that a reader may see: the inside of a JSON list.
    pub(crate) fn render(&self, sight: &LiveSight) -> String {
        let order = self.order.iter();
        joined(
            order
                .filter(|(_, seen)| sees(sight, *seen))
                .filter_map(|(id, _)| Some(text(sight, self.items.get(id)?))),
        )
    }
}

fn change(
    id: PipelineId,
    before: Option<DashboardItem>,
    after: Option<&DashboardItem>,
) -> Option<ItemChange> {
    (before.as_ref() != after).then(|| ItemChange {
        id,
        before: before.map(|item| item.seen),
        after: after.cloned(),
    })
}

/// Returns true if what is left of one order is not in the other one's order, or if any reader sees
/// more of it. That some are gone moves nothing.
fn is_reordered(before: &[(PipelineId, Visibility)], after: &[(PipelineId, Visibility)]) -> bool {
    let mut rest = before.iter();
    // Each of `after` comes in `before`, in the same order.
    !after.iter().all(|one| rest.any(|other| other == one))
}

impl DashboardPatch {
    /// Returns the fields of the patch that a reader may see, as the inside of a JSON object.
    /// `None`: the reader sees nothing of it.
    pub(crate) fn render(&self, sight: &LiveSight) -> Option<String> {
        let visible = |seen: Option<Visibility>| seen.is_some_and(|seen| sees(sight, seen));
        let shown = |change: &ItemChange| visible(change.after.as_ref().map(|item| item.seen));
        let items = joined(self.changed.iter().filter_map(|change| {
            let item = change.after.as_ref().filter(|_| shown(change))?;
            Some(text(sight, item))
        }));
        let gone = self.changed.iter();
        let gone = joined(
            gone.filter(|change| visible(change.before) && !shown(change))
                .map(|change| change.id),
        );
        let order = self.order.as_ref().map(|order| {
            let seen = order.iter().filter(|(_, seen)| sees(sight, *seen));
            joined(seen.map(|(id, _)| *id))
        });
        let lists = [
            ("items", (!items.is_empty()).then_some(items)),
            ("gone", (!gone.is_empty()).then_some(gone)),
            ("order", order.filter(|order| !order.is_empty())),
        ];
        let fields = lists
            .into_iter()
            .filter_map(|(name, list)| Some(format!("\"{name}\":[{}]", list?)));
        Some(joined(fields)).filter(|fields| !fields.is_empty())
    }

    /// Returns about the bytes that the patch takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let items = self
            .changed
            .iter()
            .filter_map(|change| change.after.as_ref());
        let items: usize = items
            .map(|item| item.insider.len() + item.outsider.len())
            .sum();
        let order = self.order.as_ref().map_or(0, |order| order.len());
        items
            + size_of::<ItemChange>() * self.changed.len()
            + order * size_of::<(PipelineId, Visibility)>()
    }
}

#[cfg(test)]
mod tests;
