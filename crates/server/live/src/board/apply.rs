//! Turns rows that were read into patches; no I/O.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use airside_model::PipelineId;
use airside_store::DashboardPipeline;

use super::{Board, Reads, TopicContent};
use crate::{
    LiveTopic,
    fields::{self, Fields},
    marks::Marks,
    part::LivePart,
    patch::{PatchBody, RowOwner},
};

impl Board {
    /// Takes over what was read, and gives all who follow it what changed.
    pub(crate) fn apply(&mut self, marks: &Marks, reads: Reads) {
        self.have_judged(&marks.judging);
        if marks.judging.all {
            self.publish(LiveTopic::Dashboard, PatchBody::Reset);
        }
        self.apply_pipeline_pages(&reads);
        self.apply_dashboard(&reads);
        for (id, build) in &reads.builds {
            let fields = build.as_ref().map(fields::of_build);
            self.apply_fields(LiveTopic::Build(*id), fields.unwrap_or_default());
        }
        self.apply_rows(&reads);
        for (topic, parts) in self.parts(marks) {
            self.publish(topic, PatchBody::Parts(parts.into()));
        }
    }

    fn apply_dashboard(&mut self, reads: &Reads) {
        let Some(entry) = self.topics.get_mut(&LiveTopic::Dashboard) else {
            return;
        };
        let TopicContent::Dashboard(state) = &mut entry.content else {
            return;
        };
        let patch = match &reads.all_pipelines {
            Some(all) => state.replace(all),
            None => state.update(&reads.pipelines),
        };
        if entry.is_loaded {
            if let Some(patch) = patch {
                let body = PatchBody::Dashboard(Arc::new(patch));
                self.publish(LiveTopic::Dashboard, body);
            }
        } else if reads.all_pipelines.is_some() {
            self.loaded(LiveTopic::Dashboard);
        }
    }

    fn apply_pipeline_pages(&mut self, reads: &Reads) {
        let single = reads.pipelines.iter();
        let single = single.map(|(id, pipeline)| (*id, pipeline.as_ref()));
        let mut read: HashMap<PipelineId, Option<&DashboardPipeline>> = single.collect();
        let all = reads.all_pipelines.iter().flatten();
        read.extend(all.map(|pipeline| (pipeline.id, Some(pipeline))));
        let followed: Vec<PipelineId> = self
            .topics
            .keys()
            .filter_map(|topic| match topic {
                LiveTopic::Pipeline(id) => Some(*id),
                _ => None,
            })
            .collect();
        for id in followed {
            let Some(pipeline) = read.get(&id).copied() else {
                // Of all that there are it is not one.
                if reads.all_pipelines.is_some() {
                    self.apply_fields(LiveTopic::Pipeline(id), Fields::new());
                }
                continue;
            };
            let fields = pipeline.map(fields::of_pipeline).unwrap_or_default();
            self.apply_fields(LiveTopic::Pipeline(id), fields);
        }
    }

    fn apply_fields(&mut self, topic: LiveTopic, fields: Fields) {
        let Some(entry) = self.topics.get_mut(&topic) else {
            return;
        };
        let TopicContent::Fields(before) = &mut entry.content else {
            return;
        };
        // What is gone is told as such.
        let changed = if fields.is_empty() {
            Fields::new()
        } else {
            fields::difference(before, &fields)
        };
        *before = fields;
        if !entry.is_loaded {
            self.loaded(topic);
        } else if !changed.is_empty() {
            self.publish(topic, PatchBody::Fields(Arc::new(changed)));
        }
    }

    fn apply_rows(&mut self, reads: &Reads) {
        if reads.all_rows {
            self.publish(LiveTopic::Builds, PatchBody::Parts([LivePart::All].into()));
        }
        let rows = reads.rows.iter().map(|(build, team, public)| {
            let (team, public) = (*team, *public);
            (LivePart::Build(*build), RowOwner { team, public })
        });
        let rows: Arc<[_]> = rows.collect();
        if !rows.is_empty() {
            self.publish(LiveTopic::Builds, PatchBody::Rows(rows));
        }
    }

    /// Returns the parts of followed topics that are to be fetched again.
    fn parts(&self, marks: &Marks) -> BTreeMap<LiveTopic, Vec<LivePart>> {
        let mut parts = BTreeMap::new();
        for (topic, entry) in &self.topics {
            let own = marks.parts.get(topic).into_iter().flatten().copied();
            let mut all: BTreeSet<LivePart> = own.collect();
            let is_under = !matches!(topic, LiveTopic::Pipeline(_));
            let pipeline = entry.pipeline.filter(|_| is_under);
            all.extend(pipeline.and_then(|pipeline| marks.under.get(&pipeline)));
            if marks.everything || all.contains(&LivePart::All) {
                all = [LivePart::All].into();
            }
            if !all.is_empty() {
                parts.insert(*topic, all.into_iter().collect());
            }
        }
        parts
    }
}
