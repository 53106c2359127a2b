//! The rows that passes of one pipeline use, read in a few statements however many jobs there are.

use std::collections::HashMap;

use airside_model::{BuildId, JobId, PipelineId};
use airside_schedule::{
    BuildKey, Graph, Moment, NameId, Names,
    pass::{BuildOrigin, Group, Original, Pending},
};
use airside_store::{Store, Unfinished};

use crate::Result;

/// The parts of a job's row that passes use.
#[derive(Clone, Copy, Default)]
pub(crate) struct JobRow {
    pub(crate) paused: bool,
    pub(crate) determined: bool,
}

pub(crate) struct PipelineState {
    pipeline: PipelineId,
    /// The pipeline is paused, or there is none.
    pub(crate) paused: bool,
    pub(crate) jobs: HashMap<JobId, JobRow>,
    /// Unfinished builds, in the order in which they are to start.
    pub(crate) unfinished: Vec<Unfinished>,
    /// Inputs that reruns find of their originals.
    originals: HashMap<BuildId, Original>,
}

impl PipelineState {
    /// Reads the pipeline's unfinished builds; its jobs are read later.
    pub(crate) async fn read(
        store: &Store,
        pipeline: PipelineId,
        names: &mut Names,
    ) -> Result<Self> {
        let summary = store.pipeline_summary_by_id(pipeline).await?;
        let unfinished = store.unfinished_of(pipeline).await?;
        let mut originals = HashMap::new();
        for build in &unfinished {
            if build.original != build.id && !build.runs {
                let found = original(store, build.original, names).await?;
                originals.insert(build.original, found);
            }
        }
        Ok(Self {
            pipeline,
            paused: summary.is_none_or(|pipeline| pipeline.paused),
            jobs: HashMap::new(),
            unfinished,
            originals,
        })
    }

    /// Reads what is not known yet of these jobs and of those in their serial groups.
    pub(crate) async fn know(
        &mut self,
        store: &Store,
        graph: &Graph,
        jobs: impl Iterator<Item = JobId>,
    ) -> Result<()> {
        let with_peers = jobs.flat_map(|job| graph.peers(job).into_iter().chain([job]));
        let mut unknown: Vec<JobId> = with_peers
            .filter(|job| !self.jobs.contains_key(job))
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        for row in store.job_states(self.pipeline, &unknown).await? {
            let state = JobRow {
                paused: row.paused,
                determined: row.inputs_determined,
            };
            self.jobs.insert(row.id, state);
        }
        Ok(())
    }

    /// Returns the job's builds that have not started.
    pub(crate) fn pending(&self, job: JobId) -> Vec<Pending> {
        let waiting = self.waiting().filter(|build| build.job == job);
        waiting.map(|build| self.as_pending(build)).collect()
    }

    fn waiting(&self) -> impl Iterator<Item = &Unfinished> {
        self.unfinished.iter().filter(|build| !build.runs)
    }

    pub(crate) fn as_pending(&self, build: &Unfinished) -> Pending {
        let origin = if build.original != build.id {
            let original = self.originals.get(&build.original).copied();
            BuildOrigin::Rerun(original.unwrap_or(Original::NoInputs))
        } else if build.manual {
            BuildOrigin::Manual
        } else {
            BuildOrigin::Trigger
        };
        Pending {
            key: key(build),
            origin,
            created: Moment(build.created_at.0),
            aborted: build.aborted,
        }
    }

    /// Returns the other builds of the job's serial groups.
    pub(crate) fn group(&self, graph: &Graph, job: JobId) -> Group {
        let peers = graph.peers(job);
        let is_peer = |build: &&Unfinished| peers.binary_search(&build.job).is_ok();
        let running = self.unfinished.iter().filter(|build| build.runs);
        let rivals = self.waiting().filter(is_peer);
        let mut rivals = rivals.filter(|build| build.job != job && self.could_start(build));
        Group {
            running: u32::try_from(running.filter(is_peer).count()).unwrap_or(u32::MAX),
            first_rival: rivals.next().map(key),
        }
    }

    fn could_start(&self, build: &Unfinished) -> bool {
        let job = self.jobs.get(&build.job).copied().unwrap_or_default();
        let has_inputs = match self.as_pending(build).origin {
            BuildOrigin::Rerun(original) => original == Original::Ready,
            BuildOrigin::Manual | BuildOrigin::Trigger => job.determined,
        };
        !build.aborted && !job.paused && has_inputs
    }

    /// Notes that the build has its inputs.
    pub(crate) fn started(&mut self, id: BuildId) {
        for build in self.unfinished.iter_mut().filter(|build| build.id == id) {
            build.runs = true;
        }
    }

    pub(crate) fn ended(&mut self, id: BuildId) {
        self.unfinished.retain(|build| build.id != id);
    }
}

fn key(build: &Unfinished) -> BuildKey {
    BuildKey {
        original: build.original,
        build: build.id,
    }
}

async fn original(store: &Store, build: BuildId, names: &mut Names) -> Result<Original> {
    if !store.has_inputs(build).await? {
        return Ok(Original::NoInputs);
    }
    let inputs = store.build_inputs(build).await?;
    let gone = inputs.iter().find(|input| !input.is_there);
    let gone: Option<NameId> = gone.map(|input| names.intern(&input.name));
    Ok(gone.map_or(Original::Ready, Original::Gone))
}
