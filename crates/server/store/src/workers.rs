//! Placement targets as the API lists them and placement chooses among them, and what operators
//! make of them: land, retire, prune, register again.
//!
//! A worker that leaves is drained first: `landing` and `retiring` last until no step runs there.

use airside_model::{WorkerName, WorkerState};

use crate::{
    Error, Micros, Result, ShownChange, Store, corrupt,
    db::{here, query, query_as, query_scalar, sql},
    from_json, now, to_json,
};

/// The kind of a worker, and so what starting the server means for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerKind {
    /// The server's own machine: the worker is started with the server, so that brings it back.
    Local,
    /// A namespace of a cluster: it stands where it stands, whatever the server does.
    Kubernetes,
    /// Another machine, whose agent comes and goes by itself.
    Agent,
}

/// Distinguishes a worker that was started just now, which brings it back, from one that has been
/// there all along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerArrival {
    Started,
    There,
}

impl WorkerKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kubernetes => "kubernetes",
            Self::Agent => "agent",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        match text {
            "local" => Ok(Self::Local),
            "kubernetes" => Ok(Self::Kubernetes),
            "agent" => Ok(Self::Agent),
            other => Err(corrupt(format!("worker kind {other}"))),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    pub name: WorkerName,
    pub state: WorkerState,
    pub team: Option<String>,
    pub tags: Vec<String>,
    pub platform: String,
    pub kind: WorkerKind,
    pub started_at: Micros,
    pub active_containers: i64,
}

/// A change of a worker that an administrator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerChange {
    /// No new steps; those that run end; it is still there and may come back.
    Land,
    /// Lets running steps end, and then removes the worker.
    Retire,
    /// Removes the worker at once, unless it is running.
    Prune,
    /// Removes the worker at once, whatever it is.
    Delete,
    /// The worker takes steps again.
    Register,
}

/// The result of a [`WorkerChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerChanged {
    Done,
    /// There is no such worker.
    Unknown,
    /// The worker is running, and the change is only for workers that are not.
    Running,
}

#[derive(sqlx::FromRow)]
struct Row {
    name: String,
    state: String,
    team: Option<String>,
    tags: String,
    platform: String,
    kind: String,
    started_at: i64,
    active_containers: i64,
}

impl TryFrom<Row> for Worker {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            name: WorkerName(row.name),
            state: state(&row.state)?,
            team: row.team,
            tags: from_json(&row.tags, "worker tags")?,
            platform: row.platform,
            kind: WorkerKind::parse(&row.kind)?,
            started_at: Micros(row.started_at),
            active_containers: row.active_containers,
        })
    }
}

fn state(text: &str) -> Result<WorkerState> {
    WorkerState::parse(text).ok_or_else(|| corrupt(format!("worker state {text}")))
}

/// SQL condition: a step runs on the worker, or is about to, that the worker may not leave alone.
/// Its container neither only stays to be intercepted nor is to go, it has no result yet, and its
/// job is not `interruptible`. That stands in the job's outline, where no other text looks like it:
/// quotes in values are escaped.
macro_rules! busy {
    () => {
        "EXISTS (SELECT 1 FROM containers c JOIN builds b ON b.id = c.build_id
           WHERE c.worker = workers.name AND c.state IN ('creating', 'created')
             AND c.kept_at IS NULL AND NOT c.gone AND b.status IN ('pending', 'started')
             AND NOT EXISTS (SELECT 1 FROM build_nodes n
               WHERE n.build_id = c.build_id AND n.plan_id = c.plan_id)
             AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = b.job_id
               AND j.outline LIKE '%\"interruptible\":true%'))"
    };
}

impl Store {
    /// The server knows of this worker from its configuration. A worker that is started with the
    /// server runs again, unless steps of before are still being waited for; any other is left as
    /// it was. Gives what it is now.
    pub async fn register_worker(
        &self,
        name: &WorkerName,
        team: Option<&str>,
        tags: &[String],
        kind: WorkerKind,
    ) -> Result<WorkerState> {
        let arrival = match kind {
            WorkerKind::Local => WorkerArrival::Started,
            WorkerKind::Kubernetes | WorkerKind::Agent => WorkerArrival::There,
        };
        self.register_arrival(name, team, tags, kind, arrival).await
    }

    /// Registers a worker of which it is known whether it was started.
    pub async fn register_arrival(
        &self,
        name: &WorkerName,
        team: Option<&str>,
        tags: &[String],
        kind: WorkerKind,
        arrival: WorkerArrival,
    ) -> Result<WorkerState> {
        let text: String = query_scalar(sql!(
            "INSERT INTO workers (name, state, team, tags, platform, kind, started_at)
             VALUES ($1, 'running', $2, $3, 'linux', $4, $5)
             ON CONFLICT (name) DO UPDATE SET team = excluded.team, tags = excluded.tags,
               kind = excluded.kind,
               state = CASE WHEN NOT $6 OR (workers.state IN ('landing', 'retiring')
                 AND ",
            busy!(),
            ") THEN workers.state ELSE 'running' END RETURNING state"
        ))
        .bind(name.as_str())
        .bind(team)
        .bind(to_json(&tags))
        .bind(kind.as_str())
        .bind(now().0)
        .bind(arrival == WorkerArrival::Started)
        .fetch_one(&self.write)
        .await?;
        self.show(ShownChange::WorkersChanged);
        state(&text)
    }

    /// Forgets workers that are no longer configured.
    pub async fn retain_workers(&self, names: &[WorkerName]) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        let known: Vec<String> = query_scalar(sql!("SELECT name FROM workers"))
            .fetch_all(&mut tx)
            .await?;
        for name in known {
            if !names.iter().any(|kept| kept.as_str() == name) {
                query(sql!("DELETE FROM workers WHERE name = $1"))
                    .bind(name)
                    .execute(&mut tx)
                    .await?;
            }
        }
        tx.commit().await?;
        self.show(ShownChange::WorkersChanged);
        Ok(())
    }

    /// Forgets one worker, if it is gone.
    pub async fn forget_worker(&self, name: &WorkerName) -> Result<()> {
        query(sql!(
            "DELETE FROM workers WHERE name = $1 AND state = 'retired'"
        ))
        .bind(name.as_str())
        .execute(&self.write)
        .await?;
        self.show(ShownChange::WorkersChanged);
        Ok(())
    }

    /// Makes an administrator's change of a worker. The caller notifies those that choose among
    /// workers afterwards.
    pub async fn change_worker(
        &self,
        name: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged> {
        let statement = match change {
            WorkerChange::Land => sql!(
                "UPDATE workers SET state = CASE WHEN state = 'landed' THEN 'landed' ELSE 'landing' END
                 WHERE name = $1 AND state <> 'retired'"
            ),
            WorkerChange::Retire => sql!(
                "UPDATE workers SET state = 'retiring' WHERE name = $1 AND state <> 'retired'"
            ),
            WorkerChange::Prune => sql!(
                "UPDATE workers SET state = 'retired'
                 WHERE name = $1 AND state NOT IN ('running', 'retired')"
            ),
            WorkerChange::Delete => {
                sql!("UPDATE workers SET state = 'retired' WHERE name = $1 AND state <> 'retired'")
            }
            WorkerChange::Register => {
                sql!("UPDATE workers SET state = 'running' WHERE name = $1")
            }
        };
        let changed = query(statement)
            .bind(name.as_str())
            .execute(&self.write)
            .await?;
        self.show(ShownChange::WorkersChanged);
        if changed == 1 {
            return Ok(WorkerChanged::Done);
        }
        let known = self.worker_states().await?;
        let running = known.contains(&(name.clone(), WorkerState::Running));
        Ok(if running {
            WorkerChanged::Running
        } else {
            WorkerChanged::Unknown
        })
    }

    /// Lands and retires the workers on which no step runs any more that is to be waited for, and
    /// takes back what was kept on those that are gone. Gives the workers whose state changed, and
    /// to what.
    pub async fn settle_workers(&self) -> Result<Vec<(WorkerName, WorkerState)>> {
        let settled: Vec<(String, String)> = query_as(sql!(
            "UPDATE workers SET state = CASE WHEN state = 'landing' THEN 'landed' ELSE 'retired' END
             WHERE state IN ('landing', 'retiring') AND NOT ",
            busy!(),
            " RETURNING name, state"
        ))
        .fetch_all(&self.write)
        .await?;
        query(sql!(
            "UPDATE containers SET state = 'destroying', token_hash = NULL, request = NULL
             WHERE kept_at IS NOT NULL AND state = 'created'
               AND worker IN (SELECT name FROM workers WHERE state = 'retired')"
        ))
        .execute(&self.write)
        .await?;
        if !settled.is_empty() {
            self.show(ShownChange::WorkersChanged);
        }
        let settled = settled.into_iter();
        settled
            .map(|(name, text)| Ok((WorkerName(name), state(&text)?)))
            .collect()
    }

    /// Lists the state of each worker, those that are gone included.
    pub async fn worker_states(&self) -> Result<Vec<(WorkerName, WorkerState)>> {
        let rows: Vec<(String, String)> =
            query_as(sql!("SELECT name, state FROM workers ORDER BY name"))
                .fetch_all(&self.read)
                .await?;
        let states = rows.into_iter();
        states
            .map(|(name, text)| Ok((WorkerName(name), state(&text)?)))
            .collect()
    }

    /// Lists the workers that are agents, those that are gone included.
    pub async fn agents(&self) -> Result<Vec<Worker>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT name, state, team, tags, platform, kind, started_at,
               CAST(0 AS BIGINT) AS active_containers
             FROM workers WHERE kind = 'agent' ORDER BY name"
        ))
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(Worker::try_from).collect()
    }

    /// The workers there are.
    pub async fn workers(&self) -> Result<Vec<Worker>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT w.name, w.state, w.team, w.tags, w.platform, w.kind, w.started_at,
               (SELECT count(*) FROM containers c WHERE c.worker = w.name) AS active_containers
             FROM workers w WHERE w.state <> 'retired' ORDER BY w.name"
        ))
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(Worker::try_from).collect()
    }
}

#[cfg(test)]
mod tests;
