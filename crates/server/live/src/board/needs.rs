//! Decides which rows the followed topics need; no I/O.

use airside_model::{BuildId, PipelineId, TeamId};
use airside_store::{Build, DashboardPipeline};
use tokio::time::Instant;

use super::{Board, TopicContent};
use crate::{LiveTopic, marks::Marks};

/// Number of pipelines that are read one by one. If more changed, all are read at once.
const MAX_SINGLE: usize = 32;

/// Number of rows of builds that are named. If more changed, lists are fetched anew.
const MAX_ROWS: usize = 500;

/// The things to read. Each is a statement, however many follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) all_pipelines: bool,
    pub(crate) pipelines: Vec<PipelineId>,
    pub(crate) builds: Vec<BuildId>,
    pub(crate) rows: Vec<BuildId>,
    /// So many rows changed that they are not read.
    pub(crate) all_rows: bool,
}

/// The things that were read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(crate) all_pipelines: Option<Vec<DashboardPipeline>>,
    pub(crate) pipelines: Vec<(PipelineId, Option<DashboardPipeline>)>,
    pub(crate) builds: Vec<(BuildId, Option<Build>)>,
    /// The rows of builds, each with its team, and true if it is exposed.
    pub(crate) rows: Vec<(BuildId, TeamId, bool)>,
    pub(crate) all_rows: bool,
}

impl Board {
    /// Returns true if pipelines of jobs have to be known.
    pub(crate) fn shows_pipelines(&self) -> bool {
        self.topics.contains_key(&LiveTopic::Dashboard) || self.shows_a_pipeline()
    }

    /// Returns true if the page of any pipeline is followed.
    pub(crate) fn shows_a_pipeline(&self) -> bool {
        let mut topics = self.topics.keys();
        topics.any(|topic| matches!(topic, LiveTopic::Pipeline(_)))
    }

    /// Returns true if nothing is followed.
    pub(crate) fn is_idle(&self) -> bool {
        self.topics.is_empty()
    }

    /// Names what has to be read because of these marks, or because it never was.
    pub(crate) fn needs(&mut self, marks: &Marks, now: Instant) -> Needs {
        self.forget_idle(now);
        let all_pipelines = self.needs_all_pipelines(marks);
        let mut needs = Needs {
            all_pipelines,
            ..Needs::default()
        };
        let has_dashboard = self.topics.contains_key(&LiveTopic::Dashboard);
        if has_dashboard && !all_pipelines {
            needs.pipelines = marks.pipelines.iter().copied().collect();
        }
        for (topic, entry) in &self.topics {
            let is_unknown = marks.everything || !entry.is_loaded;
            match topic {
                LiveTopic::Pipeline(id) if !all_pipelines => {
                    let is_listed = has_dashboard && marks.pipelines.contains(id);
                    if (is_unknown || marks.pipelines.contains(id)) && !is_listed {
                        needs.pipelines.push(*id);
                    }
                }
                LiveTopic::Build(id) if is_unknown || marks.builds.contains(id) => {
                    needs.builds.push(*id);
                }
                LiveTopic::Builds if marks.rows.len() > MAX_ROWS => needs.all_rows = true,
                LiveTopic::Builds => needs.rows = marks.rows.iter().copied().collect(),
                _ => {}
            }
        }
        needs
    }

    fn needs_all_pipelines(&self, marks: &Marks) -> bool {
        let Some(entry) = self.topics.get(&LiveTopic::Dashboard) else {
            return false;
        };
        let TopicContent::Dashboard(state) = &entry.content else {
            return false;
        };
        // The place of a new one is known only among all.
        let has_new = marks.pipelines.iter().any(|id| !state.has(*id));
        let is_unknown = marks.everything || !entry.is_loaded;
        is_unknown || marks.order || has_new || marks.pipelines.len() > MAX_SINGLE
    }
}
