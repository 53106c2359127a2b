//! Builds: their life, and the lease that says which server drives them.

mod check;
mod home;
mod page;
mod requested;
mod scheduled;
mod transition;

use std::time::Duration;

use airside_model::{BuildId, BuildStatus, JobId, PipelineId, Plan, ResourceId, TeamId, chain};

pub use check::{CheckReason, EndedCheck, NewCheck};
pub use home::BuildHome;
pub use page::{BuildChoice, BuildFilter, BuildPage, BuildRange};
pub use requested::RequestedBuild;
pub use scheduled::{RerunOf, Unfinished};

use crate::{
    Error, InstanceVars, Micros, News, Result, ShownChange, Store, corrupt,
    db::{On, Sql, Tx, here, query, query_as, query_scalar, sql},
    inputs, now,
    patience::patiently,
    to_json,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    pub id: BuildId,
    pub team: TeamId,
    pub team_name: String,
    pub pipeline: Option<PipelineId>,
    pub pipeline_name: Option<String>,
    /// Empty unless the pipeline is one of several instances.
    pub instance_vars: InstanceVars,
    pub job: Option<JobId>,
    pub job_name: Option<String>,
    /// True if the build is a check.
    pub is_check: bool,
    pub resource_name: Option<String>,
    pub name: String,
    pub status: BuildStatus,
    pub created_by: Option<String>,
    /// A note that users wrote about the build.
    pub comment: String,
    pub rerun_of: Option<RerunOf>,
    /// A user asked for the build, so that it waits for fresh checks.
    pub manual: bool,
    /// True if the build has its inputs, if it needs any, and holds its place among those that run.
    pub inputs_ready: bool,
    pub aborted: bool,
    pub created_at: Micros,
    pub started_at: Option<Micros>,
    pub ended_at: Option<Micros>,
    /// Time at which the build's log was removed, if it was.
    pub reaped_at: Option<Micros>,
}

/// A build of a job, not yet started.
pub struct NewBuild<'a> {
    pub job: JobId,
    pub created_by: Option<&'a str>,
}

/// A build of a plan of its own, without a job.
pub struct OneOff<'a> {
    pub team: TeamId,
    /// The pipeline whose variables and resource types the build uses.
    pub pipeline: Option<PipelineId>,
    pub created_by: Option<&'a str>,
    pub plan: &'a Plan,
}

/// Proof that this server drives the build. Every write that drives it checks the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub build: BuildId,
    pub epoch: i64,
}

impl Lease {
    /// Checks the lease and holds it until the transaction ends: a server that wants to take the
    /// build over waits.
    pub(crate) async fn check(&self, tx: &mut Tx) -> Result<()> {
        let held = query(sql!(
            "UPDATE builds SET epoch = epoch WHERE id = $1 AND epoch = $2"
        ))
        .bind(self.build.0)
        .bind(self.epoch)
        .execute(tx)
        .await?;
        if held == 1 {
            Ok(())
        } else {
            Err(Error::Fenced { build: self.build })
        }
    }
}

macro_rules! columns {
    () => {
        "SELECT b.id, b.team_id, t.name AS team_name, b.pipeline_id, \
    p.name AS pipeline_name, p.instance_vars, b.job_id, j.name AS job_name, \
    b.is_check, r.name AS resource_name, b.name, b.status, b.created_by, \
    b.comment, b.rerun_of, b.rerun_number, o.name AS rerun_of_name, b.manual, b.inputs_ready, \
    b.aborted, b.created_at, b.started_at, b.ended_at, b.reaped_at FROM builds b \
    LEFT JOIN pipelines p ON p.id = b.pipeline_id \
    JOIN teams t ON t.id = b.team_id AND p.destroyed IS NOT TRUE LEFT JOIN jobs j ON j.id = b.job_id \
    LEFT JOIN builds o ON o.id = b.rerun_of LEFT JOIN resources r ON r.id = b.resource_id"
    };
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    team_id: i64,
    team_name: String,
    pipeline_id: Option<i64>,
    pipeline_name: Option<String>,
    instance_vars: Option<String>,
    job_id: Option<i64>,
    job_name: Option<String>,
    is_check: bool,
    resource_name: Option<String>,
    name: String,
    status: String,
    created_by: Option<String>,
    comment: String,
    rerun_of: Option<i64>,
    rerun_number: i64,
    rerun_of_name: Option<String>,
    manual: bool,
    inputs_ready: bool,
    aborted: bool,
    created_at: i64,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    reaped_at: Option<i64>,
}

impl TryFrom<Row> for Build {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: BuildId(row.id),
            team: TeamId(row.team_id),
            team_name: row.team_name,
            pipeline: row.pipeline_id.map(PipelineId),
            pipeline_name: row.pipeline_name,
            instance_vars: match row.instance_vars {
                Some(text) => InstanceVars::parse(&text)?,
                None => InstanceVars::default(),
            },
            job: row.job_id.map(JobId),
            job_name: row.job_name,
            is_check: row.is_check,
            resource_name: row.resource_name,
            name: row.name,
            status: BuildStatus::parse(&row.status)
                .ok_or_else(|| corrupt(format!("build status {}", row.status)))?,
            created_by: row.created_by,
            comment: row.comment,
            rerun_of: row.rerun_of.map(|build| RerunOf {
                build: BuildId(build),
                name: row.rerun_of_name.unwrap_or_default(),
                number: row.rerun_number,
            }),
            manual: row.manual,
            inputs_ready: row.inputs_ready,
            aborted: row.aborted,
            created_at: Micros(row.created_at),
            started_at: row.started_at.map(Micros),
            ended_at: row.ended_at.map(Micros),
            reaped_at: row.reaped_at.map(Micros),
        })
    }
}

impl Store {
    /// Creates a pending build of a job, under the job's next number.
    pub async fn create_build(&self, new: NewBuild<'_>) -> Result<Build> {
        self.create_build_noted(new, |_| ()).await
    }

    /// Creates a build of a job, and calls `note` before any listener is notified.
    pub async fn create_build_noted(
        &self,
        new: NewBuild<'_>,
        note: impl Fn(BuildId) + Send + Sync,
    ) -> Result<Build> {
        patiently!(self, Another, {
            let mut tx = self.write.begin(here!()).await?;
            let build = create_within(&mut tx, &new).await?;
            tx.commit().await?;
            note(build.id);
            self.announce_created(build.id, new.job);
            Ok(build)
        })
    }

    /// Says that a build of the job waits, which asks for a look at the job.
    fn announce_created(&self, build: BuildId, job: JobId) {
        self.announce(News::BuildCreated { build, job });
        self.announce(News::JobAsked(job));
    }

    /// Creates a build that has its plan already, and so is started. Its name is its id.
    pub async fn create_one_off(&self, new: OneOff<'_>) -> Result<Build> {
        let mut tx = self.write.begin(here!()).await?;
        let started_at = now();
        let id: i64 = query_scalar(sql!(
            "INSERT INTO builds (team_id, pipeline_id, name, status, created_by, created_at)
             VALUES ($1, $2, '', 'started', $3, $4) RETURNING id"
        ))
        .bind(new.team.0)
        .bind(new.pipeline.map(|id| id.0))
        .bind(new.created_by)
        .bind(started_at.0)
        .fetch_one(&mut tx)
        .await?;
        let build = BuildId(id);
        let plan = self
            .sealer()
            .seal(&plan_name(build), to_json(new.plan).as_bytes());
        query(sql!(
            "UPDATE builds SET name = $1, plan = $2, started_at = $3 WHERE id = $4"
        ))
        .bind(id.to_string())
        .bind(plan)
        .bind(started_at.0)
        .bind(id)
        .execute(&mut tx)
        .await?;
        let created = fetch(&mut tx, build).await?;
        tx.commit().await?;
        self.show(ShownChange::BuildCreated { build, job: None });
        created.ok_or_else(|| corrupt("a build that was just made is not there"))
    }

    /// Takes over an unfinished build: the server that drove it before is fenced off from now on.
    /// Returns `None` if the build is finished or another server's lease is still good.
    pub async fn take_build(
        &self,
        build: BuildId,
        holder: &str,
        address: &str,
        duration: Duration,
    ) -> Result<Option<Lease>> {
        patiently!(self, Same, {
            let epoch: Option<i64> = query_scalar(sql!(
                "UPDATE builds SET epoch = epoch + 1, lease_holder = $2, lease_address = $3,
                   lease_expires_at = $4
                 WHERE id = $1 AND status IN ('pending', 'started')
                   AND (lease_holder IS NULL OR lease_holder = $2 OR lease_expires_at < $5)
                 RETURNING epoch"
            ))
            .bind(build.0)
            .bind(holder)
            .bind(address)
            .bind(now().plus(duration).0)
            .bind(now().0)
            .fetch_optional(&self.write)
            .await?;
            Ok(epoch.map(|epoch| Lease { build, epoch }))
        })
    }

    pub async fn renew_lease(&self, lease: &Lease, duration: Duration) -> Result<()> {
        patiently!(self, Same, {
            let renewed = query(sql!(
                "UPDATE builds SET lease_expires_at = $1 WHERE id = $2 AND epoch = $3"
            ))
            .bind(now().plus(duration).0)
            .bind(lease.build.0)
            .bind(lease.epoch)
            .execute(&self.write)
            .await?;
            if renewed == 1 {
                Ok(())
            } else {
                Err(Error::Fenced { build: lease.build })
            }
        })
    }

    /// Gives up every lease that an earlier process of this server held. Only for a server that has
    /// the database to itself.
    pub async fn release_all_leases(&self) -> Result<()> {
        query(sql!(
            "UPDATE builds SET lease_holder = NULL WHERE status IN ('pending', 'started')"
        ))
        .execute(&self.write)
        .await?;
        Ok(())
    }

    pub async fn start_build(&self, lease: &Lease, plan: &Plan) -> Result<Micros> {
        patiently!(self, Same, {
            let started_at = now();
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            let job: Option<Option<i64>> = query_scalar(sql!(
                "UPDATE builds SET status = 'started', plan = $1, started_at = $2
                 WHERE id = $3 AND status = 'pending' RETURNING job_id"
            ))
            .bind(
                self.sealer()
                    .seal(&plan_name(lease.build), to_json(plan).as_bytes()),
            )
            .bind(started_at.0)
            .bind(lease.build.0)
            .fetch_optional(&mut tx)
            .await?;
            tx.commit().await?;
            let build = lease.build;
            match job.flatten() {
                Some(job) => self.announce(News::BuildStarted {
                    build,
                    job: JobId(job),
                }),
                None => self.show(ShownChange::BuildStarted { build, job: None }),
            }
            Ok(started_at)
        })
    }

    /// Ends the build. What could only serve a resume is emptied in the same transaction.
    pub async fn finish_build(&self, lease: &Lease, status: BuildStatus) -> Result<Micros> {
        patiently!(self, Same, {
            let ended_at = now();
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            let of = finish(&mut tx, lease.build, status, ended_at).await?;
            tx.commit().await?;
            self.announce_end(lease.build, of, status);
            Ok(ended_at)
        })
    }

    /// Says that a build ended, if it had not before.
    fn announce_end(&self, build: BuildId, of: Option<FinishedOf>, status: BuildStatus) {
        let succeeded = status == BuildStatus::Succeeded;
        match of {
            Some(FinishedOf::Job(job)) => self.announce(News::BuildFinished {
                build,
                job,
                succeeded,
            }),
            Some(FinishedOf::Check(pipeline, resource)) => self.show(ShownChange::CheckShown {
                build,
                pipeline,
                resource,
                ok: succeeded,
            }),
            Some(FinishedOf::Nothing) => self.show(ShownChange::BuildEnded { build, job: None }),
            None => self.changed(),
        }
    }

    /// Returns a new epoch, for work on a build that is finished.
    pub async fn next_epoch(&self, build: BuildId) -> Result<i64> {
        patiently!(self, Same, {
            let epoch = query_scalar(sql!(
                "UPDATE builds SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch"
            ))
            .bind(build.0)
            .fetch_one(&self.write)
            .await?;
            Ok(epoch)
        })
    }

    /// The build's log has its last event.
    pub async fn log_closed(&self, build: BuildId) -> Result<()> {
        patiently!(self, Same, {
            query(sql!("UPDATE builds SET log_closed = TRUE WHERE id = $1"))
                .bind(build.0)
                .execute(&self.write)
                .await?;
            Ok(())
        })
    }

    /// Finished builds whose log a crash left without its last event.
    pub async fn builds_with_open_log(&self) -> Result<Vec<Build>> {
        let tail = "WHERE NOT b.log_closed AND b.status NOT IN ('pending', 'started')";
        self.list(tail, &[]).await
    }

    /// Asks for the build to be aborted; the server that drives it does so.
    pub async fn request_abort(&self, build: BuildId) -> Result<()> {
        patiently!(self, Same, {
            let job: Option<Option<i64>> = query_scalar(sql!(
                "UPDATE builds SET aborted = TRUE WHERE id = $1 RETURNING job_id"
            ))
            .bind(build.0)
            .fetch_optional(&self.write)
            .await?;
            match job.flatten() {
                Some(job) => self.announce(News::JobAsked(JobId(job))),
                None => self.changed(),
            }
            self.show_quietly(ShownChange::BuildChanged(build));
            Ok(())
        })
    }

    pub async fn build(&self, id: BuildId) -> Result<Option<Build>> {
        fetch(&self.read, id).await
    }

    pub async fn build_plan(&self, id: BuildId) -> Result<Option<Plan>> {
        let plan: Option<Option<Vec<u8>>> =
            query_scalar(sql!("SELECT plan FROM builds WHERE id = $1"))
                .bind(id.0)
                .fetch_optional(&self.read)
                .await?;
        let Some(sealed) = plan.flatten() else {
            return Ok(None);
        };
        let clear = self.sealer().open(&plan_name(id), &sealed)?;
        let plan = serde_json::from_slice(&clear)
            .map_err(|error| corrupt(format!("plan of build {id}: {}", chain(&error))))?;
        Ok(Some(plan))
    }

    pub async fn unfinished_builds(&self) -> Result<Vec<Build>> {
        self.list(
            "WHERE b.status IN ('pending', 'started') ORDER BY b.id",
            &[],
        )
        .await
    }

    pub async fn job_build(&self, job: JobId, name: &str) -> Result<Option<Build>> {
        let row: Option<Row> = query_as(sql!(columns!(), " WHERE b.job_id = $1 AND b.name = $2"))
            .bind(job.0)
            .bind(name)
            .fetch_optional(&self.read)
            .await?;
        row.map(Build::try_from).transpose()
    }

    pub(crate) async fn list(&self, tail: &str, values: &[i64]) -> Result<Vec<Build>> {
        let mut query = query_as(Sql::built(format!("{} {tail}", columns!())));
        for value in values {
            query = query.bind(*value);
        }
        let rows: Vec<Row> = query.fetch_all(&self.read).await?;
        rows.into_iter().map(Build::try_from).collect()
    }
}

/// Creates a pending build of a job, under the job's next number.
async fn create_within(tx: &mut Tx, new: &NewBuild<'_>) -> Result<Build> {
    let (number, pipeline): (i64, i64) = query_as(sql!(
        "UPDATE jobs SET build_number = build_number + 1 WHERE id = $1
         RETURNING build_number, pipeline_id"
    ))
    .bind(new.job.0)
    .fetch_one(&mut *tx)
    .await?;
    let id: i64 = query_scalar(sql!(
        "INSERT INTO builds (team_id, pipeline_id, job_id, name, status, created_by, created_at)
         SELECT team_id, id, $1, $2, 'pending', $3, $4 FROM pipelines WHERE id = $5 AND NOT destroyed
         RETURNING id"
    ))
    .bind(new.job.0)
    .bind(number.to_string())
    .bind(new.created_by)
    .bind(now().0)
    .bind(pipeline)
    .fetch_one(&mut *tx)
    .await?;
    let build = fetch(tx, BuildId(id)).await?;
    build.ok_or_else(|| corrupt("a build that was just made is not there"))
}

/// Binds a sealed plan to its build.
fn plan_name(build: BuildId) -> String {
    format!("plan of build {build}")
}

/// The thing that a build was of.
enum FinishedOf {
    Job(JobId),
    Check(PipelineId, Option<ResourceId>),
    /// The build had a plan of its own.
    Nothing,
}

type FinishedRow = (Option<i64>, Option<i64>, Option<i64>, bool);

/// Returns what the build was of, if it was not finished before.
async fn finish(
    tx: &mut Tx,
    build: BuildId,
    status: BuildStatus,
    ended_at: Micros,
) -> Result<Option<FinishedOf>> {
    let finished: Option<FinishedRow> = query_as(sql!(
        "UPDATE builds SET status = $1, ended_at = $2, lease_holder = NULL
         WHERE id = $3 AND status IN ('pending', 'started')
         RETURNING job_id, pipeline_id, resource_id, is_check"
    ))
    .bind(status.as_str())
    .bind(ended_at.0)
    .bind(build.0)
    .fetch_optional(&mut *tx)
    .await?;
    if status == BuildStatus::Succeeded {
        inputs::note_carried(tx, build).await?;
    }
    query(sql!("DELETE FROM containers WHERE build_id = $1 AND gone"))
        .bind(build.0)
        .execute(&mut *tx)
        .await?;
    crate::kept::settle(tx, build, status, ended_at).await?;
    let of = finished.map(|row| match row {
        (Some(job), ..) => FinishedOf::Job(JobId(job)),
        (None, Some(pipeline), resource, true) => {
            FinishedOf::Check(PipelineId(pipeline), resource.map(ResourceId))
        }
        _ => FinishedOf::Nothing,
    });
    if let Some(FinishedOf::Job(job)) = of {
        transition::note(tx, job, build, status, ended_at).await?;
    }
    Ok(of)
}

async fn fetch<'a>(on: impl Into<On<'a>>, id: BuildId) -> Result<Option<Build>> {
    let row: Option<Row> = query_as(sql!(columns!(), " WHERE b.id = $1"))
        .bind(id.0)
        .fetch_optional(on)
        .await?;
    row.map(Build::try_from).transpose()
}
