//! Placement targets as the API lists them and placement chooses among them.

use airside_model::{WorkerName, WorkerState};

use crate::{
    Micros, Result, Store, corrupt,
    db::{query, query_as, query_scalar, sql},
    from_json, now, to_json,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    pub name: WorkerName,
    pub state: WorkerState,
    pub team: Option<String>,
    pub tags: Vec<String>,
    pub platform: String,
    /// `local` or `kubernetes`.
    pub kind: String,
    pub started_at: Micros,
    pub active_containers: i64,
}

type Row = (
    String,
    String,
    Option<String>,
    String,
    String,
    String,
    i64,
    i64,
);

fn worker(row: Row) -> Result<Worker> {
    let (name, state, team, tags, platform, kind, started_at, active_containers) = row;
    Ok(Worker {
        name: WorkerName(name),
        state: WorkerState::parse(&state)
            .ok_or_else(|| corrupt(format!("worker state {state}")))?,
        team,
        tags: from_json(&tags, "worker tags")?,
        platform,
        kind,
        started_at: Micros(started_at),
        active_containers,
    })
}

impl Store {
    /// Registers a worker, or updates what is known of it.
    pub async fn register_worker(
        &self,
        name: &WorkerName,
        team: Option<&str>,
        tags: &[String],
        kind: &str,
    ) -> Result<()> {
        query(sql!(
            "INSERT INTO workers (name, state, team, tags, platform, kind, started_at)
             VALUES ($1, 'running', $2, $3, 'linux', $4, $5)
             ON CONFLICT (name) DO UPDATE SET state = 'running', team = excluded.team,
               tags = excluded.tags, kind = excluded.kind"
        ))
        .bind(name.as_str())
        .bind(team)
        .bind(to_json(&tags))
        .bind(kind)
        .bind(now().0)
        .execute(&self.write)
        .await?;
        self.changed();
        Ok(())
    }

    /// Forgets workers that are no longer configured.
    pub async fn retain_workers(&self, names: &[WorkerName]) -> Result<()> {
        let mut tx = self.write.begin().await?;
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
        Ok(())
    }

    pub async fn set_worker_state(&self, name: &WorkerName, state: WorkerState) -> Result<()> {
        query(sql!("UPDATE workers SET state = $1 WHERE name = $2"))
            .bind(state.as_str())
            .bind(name.as_str())
            .execute(&self.write)
            .await?;
        self.changed();
        Ok(())
    }

    pub async fn workers(&self) -> Result<Vec<Worker>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT w.name, w.state, w.team, w.tags, w.platform, w.kind, w.started_at,
               (SELECT count(*) FROM containers c WHERE c.worker = w.name)
             FROM workers w ORDER BY w.name"
        ))
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(worker).collect()
    }
}
