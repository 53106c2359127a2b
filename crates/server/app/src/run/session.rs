//! The jobs of one run, each as soon as those before it have passed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};

use airside_config::{
    CheckOptions, Config, Job, JobInput, Leaf, Resource, VersionSpec, check_plan, inputs,
};
use airside_model::{
    BuildId, BuildStatus, JobId, PipelineId, Plan, PlanId, Version, public_plan::public_plan,
};
use airside_store::OneOff;
use anyhow::{Context as _, Result, anyhow, bail};
use futures::{StreamExt as _, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{
    folders,
    json::{JsonLines, RunEvent},
    names::get_of_put,
    order::Order,
    progress::{Progress, PullLook},
    puts::{self, LeftOut},
    steps::StepReport,
    table::{JobEnd, JobReport},
    view::{FAILURE_MARK, SUCCESS_MARK, View, took},
    world::World,
};

/// The `created_by` of the builds.
const STARTED_BY: &str = "airside run";

pub(crate) struct RunSession<'a> {
    pub(crate) world: &'a World,
    pub(crate) config: &'a Config,
    pub(crate) pipeline: PipelineId,
    pub(crate) view: &'a View,
    /// Folders that stand for resources, as plans know them.
    pub(crate) folders: HashMap<String, i64>,
    /// Writer of results as JSON, if they are wanted so.
    pub(crate) json: Option<&'a JsonLines>,
    /// Builds under way are to be aborted, and no more are to begin.
    pub(crate) stop: CancellationToken,
    /// Puts are left out.
    no_put: bool,
    /// The newest version of each resource that was looked for; the same for the whole run.
    newest: Mutex<HashMap<String, Newest>>,
    /// Versions that finished jobs used and made, by job and resource.
    used: Mutex<HashMap<String, HashMap<String, Version>>>,
}

type Newest = Arc<OnceCell<Version>>;

impl<'a> RunSession<'a> {
    pub(crate) fn new(
        world: &'a World,
        config: &'a Config,
        pipeline: PipelineId,
        view: &'a View,
        folders: HashMap<String, i64>,
        json: Option<&'a JsonLines>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            world,
            config,
            pipeline,
            view,
            folders,
            json,
            stop,
            no_put: false,
            newest: Mutex::default(),
            used: Mutex::default(),
        }
    }

    /// Leaves out puts if `no_put`.
    pub(crate) fn without_puts(self, no_put: bool) -> Self {
        Self { no_put, ..self }
    }

    /// Runs all jobs of the order to their end. Reports come in the order in which the jobs ended.
    pub(crate) async fn run(&self, mut order: Order, most: usize) -> Result<Vec<JobReport>> {
        let (mut running, mut reports) = (FuturesUnordered::new(), Vec::new());
        order.names().for_each(|name| self.make_room(name));
        loop {
            if self.stop.is_cancelled() {
                let waiting = order.give_up().into_iter();
                let given_up = waiting.map(|job| JobReport::skipped(job, "the run was stopped"));
                reports.extend(given_up.inspect(|report| self.tell(report)));
            }
            running.extend(order.start(most).into_iter().map(|job| self.job(job)));
            let Some(report) = running.next().await else {
                return Ok(reports);
            };
            let report: JobReport = report?;
            self.tell(&report);
            let skipped = order.ended(&report.job, report.status());
            reports.push(report);
            for each in skipped {
                let line = format!("skipped: {}", each.reason);
                self.view.print_lines(&each.job, [line.as_str()]);
                let report = JobReport::skipped(each.job, each.reason);
                self.tell(&report);
                reports.push(report);
            }
        }
    }

    /// Makes room for the labels of a job and of its steps, so that the first line stands where the
    /// last one does. Labels that only the running build knows come later.
    fn make_room(&self, name: &str) {
        self.view.make_room(name);
        let Some(job) = self.config.job(name) else {
            return;
        };
        job.visit_leaves(&mut |leaf| match leaf {
            Leaf::Get(step) => self.view.make_room(&format!("{name}/{}", step.name)),
            Leaf::Task(step) => self.view.make_room(&format!("{name}/{}", step.name)),
            Leaf::Put(step) if step.no_get => {
                self.view.make_room(&format!("{name}/{}", step.name));
            }
            Leaf::Put(step) => {
                let get = get_of_put(&step.name);
                self.view.make_room(&format!("{name}/{get}"));
            }
            Leaf::Run(_) | Leaf::SetPipeline(_) | Leaf::LoadVar(_) => {}
        });
    }

    fn tell(&self, report: &JobReport) {
        if let Some(json) = self.json {
            json.write(&RunEvent::JobEnded(report.into()));
        }
    }

    async fn job(&self, name: String) -> Result<JobReport> {
        let job = self
            .config
            .job(&name)
            .context("a fault in Airside: a job of the pipeline is missing")?;
        if let Some(reason) = self.missing_input(job) {
            self.view
                .print_lines(&name, [format!("skipped: {reason}").as_str()]);
            return Ok(JobReport::skipped(name, reason));
        }
        let began = Instant::now();
        let planned = match self.versions(job).await {
            Ok(versions) => self.plan(job, &versions),
            Err(error) => Err(error),
        };
        let (plan, left_out) = match planned {
            Ok(planned) => planned,
            Err(error) => {
                let words = format!("{error:#}");
                self.view
                    .print_lines(&name, [format!("{FAILURE_MARK} errored: {words}").as_str()]);
                return Ok(JobReport {
                    job: name,
                    end: JobEnd::Impossible(words),
                    steps: Vec::new(),
                    took: began.elapsed(),
                    build: None,
                });
            }
        };
        let id = self.job_id(&name).await?;
        let engine = &self.world.server.engine;
        let build = engine.trigger_planned(id, STARTED_BY, &plan).await?;
        let progress = Progress::new(self.view, &name, &public_plan(&plan), self.pulls(build.id));
        let mut progress = progress.with_json(self.json);
        self.announce(&name, &left_out);
        let status = self.follow(build.id, &mut progress).await?;
        let mark = if status == BuildStatus::Succeeded {
            SUCCESS_MARK
        } else {
            FAILURE_MARK
        };
        let line = format!("{mark} {status} in {}", took(began.elapsed()));
        self.view.print_lines(&name, [line.as_str()]);
        let versions = progress.versions();
        let mut steps = progress.reports();
        steps.extend(left_out.iter().map(StepReport::left_out));
        self.used.lock().insert(name.clone(), versions);
        Ok(JobReport {
            job: name,
            end: JobEnd::Built(status),
            steps,
            took: began.elapsed(),
            build: Some(build.id),
        })
    }

    /// Returns the way to look for pulls of a build.
    fn pulls(&self, build: BuildId) -> PullLook {
        let orchestrator = self.world.server.orchestrator.clone();
        Arc::new(move |id| orchestrator.pull(build, &PlanId::new(id)))
    }

    async fn job_id(&self, name: &str) -> Result<JobId> {
        let job = self.world.store().job(self.pipeline, name).await?;
        Ok(job
            .context("a fault in Airside: a job of the pipeline is missing")?
            .id)
    }

    /// Shows a build's events to their end. If the run is stopped meanwhile, so is the build.
    async fn follow(&self, build: BuildId, progress: &mut Progress<'_>) -> Result<BuildStatus> {
        let mut events = self.world.server.logs.follow(build, 0);
        let mut stopped = false;
        loop {
            tokio::select! {
                () = self.stop.cancelled(), if !stopped => {
                    stopped = true;
                    self.world.server.engine.abort(build).await?;
                }
                event = events.next() => match event {
                    Some(entry) => progress.take(entry?.envelope.as_str()),
                    None => break,
                },
            }
        }
        progress
            .status()
            .context("a fault in Airside: the events of a build ended without its status")
    }

    /// Returns the reason for which the job lacks an input that a put would have made.
    fn missing_input(&self, job: &Job) -> Option<String> {
        let is_given = |resource: &str| self.folders.contains_key(resource);
        let used = self.used.lock();
        let missing = || puts::missing_input(self.config, job, &used, is_given);
        self.no_put.then(missing).flatten()
    }

    /// Shows the steps of a job that do not run.
    fn announce(&self, job: &str, left_out: &[LeftOut]) {
        let label = |step: &LeftOut| format!("{job}/{}", step.name);
        for step in left_out {
            self.view.make_room(&label(step));
        }
        for step in left_out {
            let line = format!("- {} skipped (--no-put): {}", step.kind, step.reason);
            self.view.print_lines(&label(step), [line.as_str()]);
        }
    }

    fn plan(
        &self,
        job: &Job,
        versions: &BTreeMap<String, Version>,
    ) -> Result<(Plan, Vec<LeftOut>)> {
        let plan = airside_config::plan(job, self.config, versions)?;
        let mut plan = serde_json::to_value(plan)?;
        folders::replace_gets(&mut plan, &|resource| self.folders.get(resource).copied());
        let mut plan = serde_json::from_value(plan)?;
        let left_out = if self.no_put {
            puts::leave_out(&mut plan)?
        } else {
            Vec::new()
        };
        Ok((plan, left_out))
    }

    /// A version for each get of the job.
    async fn versions(&self, job: &Job) -> Result<BTreeMap<String, Version>> {
        let mut versions = BTreeMap::new();
        for input in inputs(job) {
            let version = self.version(job, &input).await;
            let version = version.with_context(|| format!("input `{}`", input.name))?;
            versions.insert(input.name, version);
        }
        Ok(versions)
    }

    async fn version(&self, job: &Job, input: &JobInput) -> Result<Version> {
        if self.folders.contains_key(&input.resource) {
            return Ok(Version::from([("folder", input.resource.as_str())]));
        }
        if let Some(version) = self.passed(input)? {
            return Ok(version);
        }
        if let VersionSpec::Pinned(version) = &input.version {
            return Ok(version.clone());
        }
        let resource = self.config.resource(&input.resource);
        let resource = resource.context("there is no such resource")?;
        if let Some(version) = &resource.version {
            return Ok(version.clone());
        }
        let newest: Newest = {
            let mut newest = self.newest.lock();
            newest.entry(resource.name.clone()).or_default().clone()
        };
        let looked = newest.get_or_try_init(|| self.look(&job.name, resource));
        Ok(looked.await?.clone())
    }

    /// The version that the jobs before it used, which must be the same one.
    fn passed(&self, input: &JobInput) -> Result<Option<Version>> {
        let used = self.used.lock();
        let mut found: Option<(&str, Version)> = None;
        for job in self.config.passed_jobs(&input.passed) {
            // With --only, jobs that do not run are taken to have passed with whatever there is.
            let Some(versions) = used.get(&job.name) else {
                continue;
            };
            let Some(version) = versions.get(&input.resource) else {
                bail!("job `{}` got no version of `{}`", job.name, input.resource);
            };
            match &found {
                Some((other, known)) if known != version => bail!(
                    "no version has passed both `{other}` and `{}`: they used different ones",
                    job.name
                ),
                _ => found = Some((&job.name, version.clone())),
            }
        }
        Ok(found.map(|(_, version)| version))
    }

    /// Looks for the newest version of a resource, in a build of its own.
    async fn look(&self, job: &str, resource: &Resource) -> Result<Version> {
        let id = PlanId::new(format!("check/{}", resource.name));
        let options = CheckOptions {
            skip_interval: true,
            skip_interval_of_types: true,
            ..CheckOptions::default()
        };
        let plan = check_plan(id.clone(), resource, self.config, options)?;
        let one_off = OneOff {
            team: self.world.team,
            pipeline: Some(self.pipeline),
            created_by: Some(STARTED_BY),
            plan: &plan,
        };
        let engine = &self.world.server.engine;
        let build = engine.start(one_off).await?;
        let progress = Progress::new(self.view, job, &public_plan(&plan), self.pulls(build.id));
        let mut progress = progress.with_json(self.json);
        match self.follow(build.id, &mut progress).await? {
            BuildStatus::Succeeded => engine
                .version(build.id, &id)
                .await?
                .ok_or_else(|| anyhow!("resource `{}` has no versions", resource.name)),
            status => {
                let reason = progress.reason().map(|reason| format!(": {reason}"));
                let reason = reason.unwrap_or_default();
                bail!("the check of resource `{}` {status}{reason}", resource.name)
            }
        }
    }
}
