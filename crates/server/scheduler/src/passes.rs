//! Passes of a pipeline's jobs, and what comes of them.

use std::{
    collections::{BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use airside_model::{BuildId, JobId, PipelineId, chain};
use airside_schedule::{
    BuildKey, Carried, Change, Event, History, NameId, Order, Resolution,
    graph::Job,
    pass::{Action, InputsFrom, JobState, Next, Pass, Pauses, Wait, pass},
    preparation::{Preparation, preparation},
};
use airside_store::{GivenInput, NextInput, NextInputs, Unfinished, now};
use tokio::time::Instant;
use tracing::{debug, info};

use crate::{
    Prepared, Result, SchedulerRequest,
    answer::{answer, pipe},
    driver::{Driver, Due},
    pipeline_graph::PipelineGraph,
    pipeline_state::PipelineState,
};

/// Maximum number of passes of a job in a row. Each starts or creates a build, so the rest of a
/// very long queue waits for the next event instead of delaying other jobs.
const MAX_ROUNDS: usize = 1000;

impl Driver {
    /// Makes the passes of these jobs, and of the jobs that they affect.
    pub(crate) async fn schedule_pipeline(&mut self, pipeline: PipelineId, due: Due) -> Result<()> {
        let mut state = PipelineState::read(&self.store, pipeline, &mut self.names).await?;
        if state.paused && state.unfinished.is_empty() {
            // Most pipelines rest most of the time: their configuration need not even be read.
            self.forget(pipeline);
            return Ok(());
        }
        let Some(configured) = self.pipeline_graph(pipeline).await? else {
            return Ok(());
        };
        let mut jobs = due.jobs;
        if due.all {
            jobs.extend(configured.graph.affected_jobs(Event::Sweep));
        }
        self.resume_unfinished(&configured, &mut state).await?;
        let ids = jobs.iter().copied();
        state.know(&self.store, &configured.graph, ids).await?;
        let mut queue: VecDeque<JobId> = jobs.into_iter().collect();
        while let Some(id) = queue.pop_front() {
            if let Some(job) = configured.graph.job(id) {
                state
                    .know(&self.store, &configured.graph, [id].into_iter())
                    .await?;
                for peer in self.pass_job(&configured, job, &mut state).await? {
                    if !queue.contains(&peer) {
                        queue.push_back(peer);
                    }
                }
            }
        }
        self.trim();
        Ok(())
    }

    /// Runs builds that have their inputs, and ends builds whose job is gone. Neither needs a pass.
    async fn resume_unfinished(
        &mut self,
        configured: &PipelineGraph,
        state: &mut PipelineState,
    ) -> Result<()> {
        for build in state.unfinished.clone() {
            if build.runs {
                if !build.has_started {
                    self.runner.run(build.id);
                }
            } else if configured.graph.job(build.job).is_none() && !configured.unreadable {
                self.end(&build).await?;
                state.ended(build.id);
            }
        }
        Ok(())
    }

    /// Ends a build that never started.
    async fn end(&mut self, build: &Unfinished) -> Result<()> {
        if !build.aborted {
            self.store.request_abort(build.id).await?;
        }
        self.runner.run(build.id);
        Ok(())
    }

    /// Makes passes of one job until nothing more is to be done. Returns the other jobs that are
    /// affected.
    async fn pass_job(
        &mut self,
        configured: &PipelineGraph,
        job: &Job,
        state: &mut PipelineState,
    ) -> Result<Vec<JobId>> {
        let mut judged = self.judge(configured, job, state).await?;
        for _ in 0..MAX_ROUNDS {
            let (resolution, outcome) = &judged;
            // Also after a build has started: what it took is new to the job no longer.
            let mut again = outcome.next == Next::Again;
            for action in &outcome.actions {
                again |= self
                    .carry_out(configured, job, state, resolution, action)
                    .await?;
            }
            if !again {
                break;
            }
            judged = self.judge(configured, job, state).await?;
        }
        let (resolution, outcome) = &judged;
        self.note_inputs(configured, job, state, resolution, outcome)
            .await
    }

    async fn judge(
        &mut self,
        configured: &PipelineGraph,
        job: &Job,
        state: &PipelineState,
    ) -> Result<(Resolution, Pass)> {
        let pauses = pauses(configured, state, job.id);
        let resolution = if pauses.pipeline || pauses.job {
            Resolution::default()
        } else {
            self.resolve(job).await?
        };
        let pending = state.pending(job.id);
        let spacing = self
            .spaced_jobs
            .spacing_of_job(&configured.team, job.id, Instant::now());
        let judged = pass(&JobState {
            job,
            pauses,
            pending: &pending,
            group: state.group(&configured.graph, job.id),
            spacing,
            checked: &self.checked,
            inputs: &resolution,
        });
        Ok((resolution, judged))
    }

    /// Stores the inputs of the next build, if they changed. Returns the other jobs that are
    /// affected.
    async fn note_inputs(
        &mut self,
        configured: &PipelineGraph,
        job: &Job,
        state: &mut PipelineState,
        resolution: &Resolution,
        outcome: &Pass,
    ) -> Result<Vec<JobId>> {
        let pauses = pauses(configured, state, job.id);
        if pauses.pipeline || pauses.job {
            return Ok(Vec::new());
        }
        let next = self.next_inputs(resolution, outcome.has_new_inputs);
        let hash = hash(&next);
        if self.next.get(&job.id) != Some(&hash) {
            self.store.save_next_inputs(job.id, &next).await?;
            self.next.insert(job.id, hash);
        }
        let row = state.jobs.entry(job.id).or_default();
        let determined = next.is_determined();
        if std::mem::replace(&mut row.determined, determined) == determined {
            return Ok(Vec::new());
        }
        Ok(configured
            .graph
            .affected_jobs(Event::InputsDetermined(job.id)))
    }

    fn next_inputs(&self, resolution: &Resolution, has_new: bool) -> NextInputs {
        let inputs = resolution.inputs.iter().map(|(name, outcome)| NextInput {
            name: self.names.name(*name).to_owned(),
            chosen: match outcome {
                Ok(chosen) => Ok((chosen.carried.version, chosen.first_occurrence)),
                Err(reason) => Err(reason.to_string()),
            },
        });
        NextInputs {
            inputs: inputs.collect(),
            has_new,
        }
    }

    /// Carries out one action of a pass. Returns true if a build was started.
    async fn carry_out(
        &mut self,
        configured: &PipelineGraph,
        job: &Job,
        state: &mut PipelineState,
        resolution: &Resolution,
        action: &Action,
    ) -> Result<bool> {
        match action {
            Action::Create { because } => {
                match self.store.create_triggered_build(job.id).await? {
                    Some(build) => {
                        let input = self.names.name(*because);
                        info!(%build, job = %job.id, input, "build created for a new version");
                        state.unfinished.push(created(build, job.id));
                    }
                    // A person has triggered one just now.
                    None => {
                        *state = PipelineState::read(&self.store, configured.id, &mut self.names)
                            .await?;
                        let ids = [job.id].into_iter();
                        state.know(&self.store, &configured.graph, ids).await?;
                    }
                }
            }
            Action::Start { build, inputs } => {
                self.start(job, state, resolution, *build, *inputs).await?;
                self.spaced_jobs
                    .started(&configured.team, job.id, Instant::now());
                return Ok(true);
            }
            Action::Abort { build } => {
                let found = state.unfinished.iter().find(|one| one.id == build.build);
                if let Some(found) = found.copied() {
                    self.end(&found).await?;
                    state.ended(found.id);
                }
            }
            Action::Check { build, resources } => {
                let asked = self.asked.entry(build.build).or_default();
                let new = resources.iter().filter(|resource| asked.insert(**resource));
                let resources: Vec<_> = new.copied().collect();
                if !resources.is_empty() {
                    self.checks.request(&resources);
                }
            }
            Action::Wait { build, reason } => {
                debug!(build = %build.build, %reason, "build waits");
                if *reason == Wait::Spacing {
                    self.spaced_jobs.wake(configured.id, job.id);
                }
            }
        }
        Ok(false)
    }

    async fn start(
        &mut self,
        job: &Job,
        state: &mut PipelineState,
        resolution: &Resolution,
        build: BuildKey,
        from: InputsFrom,
    ) -> Result<()> {
        let given = match from {
            InputsFrom::Original(original) => {
                self.store.give_inputs_of(build.build, original).await?
            }
            InputsFrom::Resolution => self.give_resolved_inputs(build.build, resolution).await?,
        };
        if given {
            match from {
                InputsFrom::Original(_) => self.view.apply(Change::ForgetJob(job.id)),
                InputsFrom::Resolution => self.note_use(job.id, resolution).await?,
            }
        }
        // Without inputs given, an earlier try had given them, or it was aborted just now.
        state.started(build.build);
        self.asked.remove(&build.build);
        self.runner.run(build.build);
        Ok(())
    }

    async fn give_resolved_inputs(&self, build: BuildId, resolution: &Resolution) -> Result<bool> {
        let chosen = resolution.inputs.iter().filter_map(|(name, outcome)| {
            let chosen = outcome.as_ref().ok()?;
            Some(GivenInput {
                name: self.names.name(*name).to_owned(),
                version: chosen.carried.version,
                first_occurrence: chosen.first_occurrence,
            })
        });
        let given: Vec<GivenInput> = chosen.collect();
        let pipes = pipes(resolution);
        Ok(self.store.give_inputs(build, &given, &pipes).await?)
    }

    /// Notes in the view that the job used what was resolved.
    async fn note_use(&mut self, job: JobId, resolution: &Resolution) -> Result<()> {
        let mut inputs: Vec<(NameId, Carried, Order)> = Vec::new();
        for (name, outcome) in &resolution.inputs {
            if let Ok(chosen) = outcome {
                let order = self.order(chosen.carried).await?;
                inputs.push((*name, chosen.carried, order));
            }
        }
        let places = self.store.build_places(&pipes(resolution)).await?;
        let pipes = places.into_iter().map(pipe).collect();
        self.view.apply(Change::InputsUsed { job, inputs, pipes });
        Ok(())
    }

    async fn order(&mut self, carried: Carried) -> Result<Order> {
        loop {
            match self.view.version(carried) {
                Ok(found) => return Ok(found.map_or(Order(0), |found| found.order)),
                Err(question) => {
                    let (ticket, page) = (self.view.ticket(), self.view.page());
                    let answer = answer(&self.store, &self.names, &question, page).await?;
                    let _ = self.view.learn(ticket, &question, answer)?;
                }
            }
        }
    }

    pub(crate) async fn handle_request(&mut self, ask: SchedulerRequest) {
        let SchedulerRequest::Preparation(build, sender) = ask;
        match self.prepare(build).await {
            Ok(prepared) => {
                // The caller may have gone.
                let _ = sender.send(prepared);
            }
            Err(error) => {
                tracing::warn!(
                    %build,
                    error = %chain(&error),
                    "reason why a build waits not found"
                );
            }
        }
    }

    /// Returns what a pending build waits for.
    async fn prepare(&mut self, id: BuildId) -> Result<Option<Prepared>> {
        let Some(build) = self.store.build(id).await? else {
            return Ok(None);
        };
        let (Some(pipeline), Some(job)) = (build.pipeline, build.job) else {
            return Ok(None);
        };
        let Some(configured) = self.pipeline_graph(pipeline).await? else {
            return Ok(None);
        };
        let mut state = PipelineState::read(&self.store, pipeline, &mut self.names).await?;
        let ids = [job].into_iter();
        state.know(&self.store, &configured.graph, ids).await?;
        let waiting = state
            .unfinished
            .iter()
            .find(|one| one.id == id && !one.runs);
        let (Some(waiting), Some(job)) = (waiting, configured.graph.job(job)) else {
            return Ok(None);
        };
        let resolution = self.resolve(job).await?;
        let pending = state.pending(job.id);
        let judged = JobState {
            job,
            pauses: pauses(&configured, &state, job.id),
            pending: &pending,
            group: state.group(&configured.graph, job.id),
            spacing: self
                .spaced_jobs
                .spacing_of_job(&configured.team, job.id, Instant::now()),
            checked: &self.checked,
            inputs: &resolution,
        };
        let preparation = preparation(&judged, &state.as_pending(waiting), &self.names);
        Ok(Some(self.named(preparation)))
    }

    fn named(&self, preparation: Preparation) -> Prepared {
        let reason = |name: &NameId| {
            let reasons = &preparation.missing_input_reasons;
            let found = reasons.iter().find(|(missing, _)| missing == name);
            found.map(|(_, reason)| reason.clone())
        };
        let inputs = preparation.inputs.iter();
        let inputs = inputs.map(|(name, _)| (self.names.name(*name).to_owned(), reason(name)));
        Prepared {
            inputs: inputs.collect(),
            preparation,
        }
    }
}

fn hash(next: &NextInputs) -> u64 {
    let mut hasher = DefaultHasher::new();
    next.hash(&mut hasher);
    hasher.finish()
}

fn pauses(configured: &PipelineGraph, state: &PipelineState, job: JobId) -> Pauses {
    Pauses {
        pipeline: state.paused,
        job: state.jobs.get(&job).is_some_and(|row| row.paused),
        archived: configured.archived,
    }
}

/// Returns the upstream builds that the inputs come from, each once.
fn pipes(resolution: &Resolution) -> Vec<BuildId> {
    let chosen = resolution
        .inputs
        .iter()
        .filter_map(|(_, outcome)| outcome.as_ref().ok());
    let builds: BTreeSet<BuildId> = chosen.flat_map(|chosen| chosen.passed.clone()).collect();
    builds.into_iter().collect()
}

/// Returns a build that a pass has just created.
fn created(build: BuildId, job: JobId) -> Unfinished {
    Unfinished {
        id: build,
        job,
        original: build,
        manual: false,
        created_at: now(),
        aborted: false,
        runs: false,
        has_started: false,
    }
}
