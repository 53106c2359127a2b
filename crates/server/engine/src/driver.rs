//! The life of one build, from pending to its last event.

use airside_config::Config;
use airside_logs::LogWriter;
use airside_model::{
    BuildId, BuildStatus, Plan, PlanId, chain,
    event::{Event, Origin},
};
use airside_secrets::{Asker, PipelineVariables};
use airside_store::{Build, Lease, Micros, now};
use airside_vars::InstanceVars;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{Span, field::display, info, warn};

use crate::{
    Engine, LEASE, Result, inputs, interpret::Interpreter, reference::Uses, scope::Context,
    status::Status, stop::Stop, upcoming,
};

/// Returns the origin of an event that belongs to no step.
fn no_step() -> Origin {
    Origin::step(&PlanId::new(""))
}

impl Engine {
    /// Takes the build's lease, and drives the build while it is renewed. A build that another
    /// server drives, or that has ended, is left alone.
    pub(crate) async fn drive_with_lease(
        &self,
        id: BuildId,
        cancel: CancellationToken,
    ) -> Result<()> {
        let parts = &self.parts;
        let taken = parts
            .store
            .take_build(id, &parts.holder, &parts.address, LEASE)
            .await?;
        let Some(lease) = taken else {
            return self.mend_if_ended(id).await;
        };
        let Some(build) = parts.store.build(id).await? else {
            return Ok(());
        };
        if build.aborted {
            cancel.cancel();
        }
        let (store, held) = (parts.store.clone(), lease.clone());
        let renewal = airside_tasks::restart("lease of a build", move || {
            renew(store.clone(), held.clone())
        });
        // However this ends, also by a panic.
        let _renewal = AbortOnDropHandle::new(renewal);
        self.drive_with_log(&build, &lease, cancel).await
    }

    /// Ends a build whose driving panicked: it is errored, and its log says so. The panic's own
    /// words stay in the server's log, as they may hold a secret.
    pub(crate) async fn end_faulty(&self, id: BuildId) -> Result<()> {
        let parts = &self.parts;
        let taken = parts
            .store
            .take_build(id, &parts.holder, &parts.address, LEASE)
            .await?;
        let Some(lease) = taken else {
            return self.mend_if_ended(id).await;
        };
        let Some(build) = parts.store.build(id).await? else {
            return Ok(());
        };
        let log = parts.logs.writer(id, lease.epoch).await?;
        self.count_start(&build);
        let event = Event::Error {
            message: format!(
                "a fault in Airside ended this build; the server's log has a line on it that names build {id}. \
                 Trigger the build again, and report the line if it ends like this again"
            ),
            origin: no_step(),
            time: now().seconds(),
        };
        log.append("fault", 1, event).await?;
        self.finish(&build, &lease, &log, BuildStatus::Errored)
            .await
    }

    /// Opens the build's log, makes its plan unless it has one, and runs it to its end.
    async fn drive_with_log(
        &self,
        build: &Build,
        lease: &Lease,
        cancel: CancellationToken,
    ) -> Result<()> {
        let log = self.parts.logs.writer(build.id, lease.epoch).await?;
        let interpreter = Interpreter {
            engine: self,
            build,
            lease,
            log: &log,
            variables: self.variables(build).await?,
            secrets: Default::default(),
            ended: Default::default(),
            uses: Default::default(),
        };
        let context = Context::of_build(Stop::of_build(cancel));
        let planned = self.load_or_make_plan(&interpreter, &context).await?;
        self.count_start(build);
        let status = match planned {
            Planned::Aborted => BuildStatus::Aborted,
            Planned::Impossible => BuildStatus::Errored,
            Planned::Ready(plan) => {
                let time = now().seconds();
                let event = Event::Status {
                    status: BuildStatus::Started,
                    time,
                };
                log.append("status", 1, event).await?;
                interpreter.uses.get_or_init(|| Uses::of(&plan));
                let ran = self
                    .run_plan_expecting_images(&interpreter, &plan, context)
                    .await;
                match ran? {
                    Status::Succeeded => BuildStatus::Succeeded,
                    Status::Failed => BuildStatus::Failed,
                    Status::Errored | Status::TimedOut => BuildStatus::Errored,
                    Status::Aborted => BuildStatus::Aborted,
                }
            }
        };
        self.finish(build, lease, &log, status).await
    }

    /// Runs the plan, while workers that can have images fetched know what it will want.
    async fn run_plan_expecting_images(
        &self,
        interpreter: &Interpreter<'_>,
        plan: &Plan,
        context: Context,
    ) -> Result<Status> {
        let Build { id, team_name, .. } = interpreter.build;
        let orchestrator = &self.parts.orchestrator;
        let images = if interpreter.build.is_check {
            Vec::new()
        } else {
            upcoming::images(plan)
        };
        if images.is_empty() {
            return interpreter.run_node(plan, context).await;
        }
        orchestrator.expect_images(team_name, *id, &images);
        let ran = interpreter.run_node(plan, context).await;
        orchestrator.expect_images(team_name, *id, &[]);
        ran
    }

    /// The build's plan: the stored one, or one that is made of its inputs.
    async fn load_or_make_plan(
        &self,
        interpreter: &Interpreter<'_>,
        context: &Context,
    ) -> Result<Planned> {
        let Interpreter {
            build, lease, log, ..
        } = interpreter;
        if let Some(plan) = self.parts.store.build_plan(build.id).await? {
            return Ok(Planned::Ready(Box::new(plan)));
        }
        if context.stop.cause().is_some() {
            return Ok(Planned::Aborted);
        }
        match inputs::plan(interpreter).await {
            Ok(plan) => {
                self.parts.store.start_build(lease, &plan).await?;
                Ok(Planned::Ready(Box::new(plan)))
            }
            Err(error) => {
                let message = error.into_words()?;
                let time = now().seconds();
                let started = Event::Status {
                    status: BuildStatus::Started,
                    time,
                };
                log.append("status", 1, started).await?;
                let event = Event::Error {
                    message,
                    origin: no_step(),
                    time,
                };
                log.append("plan", 1, event).await?;
                Ok(Planned::Impossible)
            }
        }
    }

    /// Returns the variables that the build may look up, by the pipeline as it is now.
    pub(crate) async fn variables(&self, build: &Build) -> Result<PipelineVariables> {
        let pipeline = match build.pipeline {
            Some(id) => self.parts.store.pipeline_by_id(id).await?,
            None => None,
        };
        let config = pipeline.and_then(|pipeline| serde_json::from_value(pipeline.config).ok());
        let asker = Asker {
            team: build.team_name.clone(),
            pipeline: build.pipeline_name.clone(),
            instance_vars: InstanceVars(build.instance_vars.as_map().clone()),
            job: build.job_name.clone(),
        };
        let sources = config.map(|config: Config| config.var_sources);
        let credentials = &self.parts.credentials;
        Ok(credentials.of(asker, &sources.unwrap_or_default()))
    }

    /// Commits the end, then announces it. A crash in between is mended at the next start.
    async fn finish(
        &self,
        build: &Build,
        lease: &Lease,
        log: &LogWriter,
        status: BuildStatus,
    ) -> Result<()> {
        let ended_at = self.parts.store.finish_build(lease, status).await?;
        // At once: a server that stops may break off whatever waits from here on.
        let shown = |name: &Option<String>| name.clone().unwrap_or_default();
        let (pipeline, job) = (shown(&build.pipeline_name), shown(&build.job_name));
        let span = Span::current();
        span.record("pipeline", &*pipeline).record("job", &*job);
        span.record("status", display(status));
        // Only for the record: what follows must come whatever the database does now.
        let ended = self.parts.store.build(build.id).await.ok().flatten();
        let started_at = ended.and_then(|build| build.started_at);
        let took = ended_at.since(started_at.unwrap_or(ended_at));
        info!(build = %build.id, %status, ?took, "build finished");
        if build.is_check {
            self.parts.metrics.check_ended(status);
        } else {
            let whose = [&*build.team_name, &pipeline, &job];
            self.parts.metrics.build_finished(whose, status, took);
        }
        self.close_log(build.id, log, status, ended_at).await?;
        Ok(self.parts.orchestrator.clean_up(build.id).await?)
    }

    /// A build that was driven before may have ended without its log.
    async fn mend_if_ended(&self, id: BuildId) -> Result<()> {
        let ended = self.parts.store.builds_with_open_log().await?;
        match ended.iter().find(|build| build.id == id) {
            Some(build) => self.mend(build).await,
            None => Ok(()),
        }
    }

    /// Does what a crash right after a build's end left undone.
    pub(crate) async fn mend(&self, build: &Build) -> Result<()> {
        let epoch = self.parts.store.next_epoch(build.id).await?;
        let log = self.parts.logs.writer(build.id, epoch).await?;
        let ended_at = build.ended_at.unwrap_or_else(now);
        self.close_log(build.id, &log, build.status, ended_at)
            .await?;
        Ok(self.parts.orchestrator.clean_up(build.id).await?)
    }

    /// Gives a finished build's log its last event.
    async fn close_log(
        &self,
        build: BuildId,
        log: &LogWriter,
        status: BuildStatus,
        ended_at: Micros,
    ) -> Result<()> {
        log.append(
            "status",
            2,
            Event::Status {
                status,
                time: ended_at.seconds(),
            },
        )
        .await?;
        log.close().await?;
        self.parts.store.note_log_size(build, log.bytes()).await?;
        Ok(self.parts.store.log_closed(build).await?)
    }
}

enum Planned {
    Ready(Box<Plan>),
    /// The build cannot run; the reason is in its log.
    Impossible,
    Aborted,
}

async fn renew(store: airside_store::Store, lease: Lease) {
    loop {
        // It has just been taken, or renewed: most builds end before another write is needed.
        tokio::time::sleep(LEASE / 3).await;
        if let Err(error) = store.renew_lease(&lease, LEASE).await {
            warn!(build = %lease.build, error = %chain(&error), "lease not renewed");
        }
    }
}
