//! Placements of steps, and the claim: the one point after which a step may have run.

use airside_model::{
    BuildId, ContainerState, Handle, PlanId, StepLabels, TeamId, WorkerName, chain,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Error, Lease, Micros, Result, Store, corrupt,
    db::{here, query, query_as, query_scalar, sql},
    from_json, now,
    patience::patiently,
    to_json,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    pub handle: Handle,
    pub build: BuildId,
    pub plan: PlanId,
    pub attempt: u32,
    pub placement: u32,
    pub worker: WorkerName,
    pub state: ContainerState,
    pub labels: StepLabels,
    pub uid: Option<String>,
    /// Time at which a shim claimed the step.
    pub claimed_at: Option<Micros>,
    /// Time since which the container only stays for users who want to look inside: its step has
    /// ended.
    pub kept_at: Option<Micros>,
    /// Time at which a user last intercepted the container.
    pub hijacked_at: Option<Micros>,
    /// Directory in which intercepted processes begin; empty for the step's own.
    pub dir: String,
    pub user: String,
}

/// A placement about to be made. It is stored before the runtime is asked for it.
pub struct NewPlacement<'a, R> {
    pub handle: &'a Handle,
    pub plan: &'a PlanId,
    pub attempt: u32,
    pub placement: u32,
    pub worker: &'a WorkerName,
    pub labels: &'a StepLabels,
    pub token_hash: &'a str,
    /// Directory in which intercepted processes begin.
    pub dir: &'a str,
    pub user: &'a str,
    /// The request that a resumed build needs to follow the step; sealed before it is stored.
    pub request: &'a R,
}

/// A shim that asks to do the work of a placement.
pub struct Claimant<'a> {
    pub handle: &'a Handle,
    pub token_hash: &'a str,
    pub instance: &'a str,
    /// Hash of the session key that the hub is about to hand out.
    pub session_hash: &'a str,
}

#[derive(Clone, Debug, Default)]
pub struct ContainerFilter {
    pub team: Option<TeamId>,
    pub build: Option<BuildId>,
    pub worker: Option<WorkerName>,
}

#[derive(sqlx::FromRow)]
pub(crate) struct Row {
    handle: String,
    build_id: i64,
    plan_id: String,
    attempt: i64,
    placement: i64,
    worker: String,
    state: String,
    labels: String,
    uid: Option<String>,
    claimed_at: Option<i64>,
    kept_at: Option<i64>,
    hijacked_at: Option<i64>,
    dir: String,
    process_user: String,
}

impl TryFrom<Row> for Container {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            handle: Handle(row.handle),
            build: BuildId(row.build_id),
            plan: PlanId(row.plan_id),
            attempt: row.attempt as u32,
            placement: row.placement as u32,
            worker: WorkerName(row.worker),
            state: ContainerState::parse(&row.state)
                .ok_or_else(|| corrupt(format!("container state {}", row.state)))?,
            labels: from_json(&row.labels, "container labels")?,
            uid: row.uid,
            claimed_at: row.claimed_at.map(Micros),
            kept_at: row.kept_at.map(Micros),
            hijacked_at: row.hijacked_at.map(Micros),
            dir: row.dir,
            user: row.process_user,
        })
    }
}

macro_rules! columns {
    () => {
        "SELECT c.handle, c.build_id, c.plan_id, c.attempt, c.placement, c.worker, \
    c.state, c.labels, c.uid, c.claimed_at, c.kept_at, c.hijacked_at, c.dir, c.process_user \
    FROM containers c"
    };
}

impl Store {
    /// Stores a placement in state `creating` and takes the right to claim from every earlier one
    /// of the same step and attempt.
    pub async fn create_placement<R: Serialize>(
        &self,
        lease: &Lease,
        new: NewPlacement<'_, R>,
    ) -> Result<()> {
        let request = self
            .sealer()
            .seal(new.handle.as_str(), to_json(new.request).as_bytes());
        patiently!(self, Another, {
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            query(sql!(
                "UPDATE containers SET state = 'destroying', token_hash = NULL, request = NULL
             WHERE build_id = $1 AND plan_id = $2 AND attempt = $3 AND placement < $4"
            ))
            .bind(lease.build.0)
            .bind(new.plan.as_str())
            .bind(i64::from(new.attempt))
            .bind(i64::from(new.placement))
            .execute(&mut tx)
            .await?;
            query(sql!(
            "INSERT INTO containers (handle, build_id, plan_id, attempt, placement, worker, state,
               labels, token_hash, request, created_at, dir, process_user)
             VALUES ($1, $2, $3, $4, $5, $6, 'creating', $7, $8, $9, $10, $11, $12)"
        ))
            .bind(new.handle.as_str())
            .bind(lease.build.0)
            .bind(new.plan.as_str())
            .bind(i64::from(new.attempt))
            .bind(i64::from(new.placement))
            .bind(new.worker.as_str())
            .bind(to_json(new.labels))
            .bind(new.token_hash)
            .bind(request.clone())
            .bind(now().0)
            .bind(new.dir)
            .bind(new.user)
            .execute(&mut tx)
            .await?;
            tx.commit().await?;
            self.step_changed(lease.build);
            Ok(())
        })
    }

    /// The newest placement of a step and attempt.
    pub async fn current_placement(
        &self,
        build: BuildId,
        plan: &PlanId,
        attempt: u32,
    ) -> Result<Option<Container>> {
        let row: Option<Row> = query_as(sql!(
            columns!(),
            " WHERE c.build_id = $1 AND c.plan_id = $2 AND c.attempt = $3
             ORDER BY c.placement DESC LIMIT 1"
        ))
        .bind(build.0)
        .bind(plan.as_str())
        .bind(i64::from(attempt))
        .fetch_optional(&self.read)
        .await?;
        row.map(Container::try_from).transpose()
    }

    /// The sealed request of a placement whose step has not ended.
    pub async fn placement_request<R: DeserializeOwned>(
        &self,
        handle: &Handle,
    ) -> Result<Option<R>> {
        let sealed: Option<Option<Vec<u8>>> =
            query_scalar(sql!("SELECT request FROM containers WHERE handle = $1"))
                .bind(handle.as_str())
                .fetch_optional(&self.read)
                .await?;
        let Some(sealed) = sealed.flatten() else {
            return Ok(None);
        };
        let clear = self.sealer().open(handle.as_str(), &sealed)?;
        let request = serde_json::from_slice(&clear)
            .map_err(|error| corrupt(format!("request of {handle}: {}", chain(&error))))?;
        Ok(Some(request))
    }

    /// The runtime has accepted the placement, under this uid if it has one.
    pub async fn placement_created(
        &self,
        lease: &Lease,
        handle: &Handle,
        uid: Option<&str>,
    ) -> Result<()> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            lease.check(&mut tx).await?;
            query(sql!(
                "UPDATE containers SET state = 'created', uid = coalesce($1, uid)
                 WHERE handle = $2 AND state = 'creating'"
            ))
            .bind(uid)
            .bind(handle.as_str())
            .execute(&mut tx)
            .await?;
            tx.commit().await?;
            Ok(())
        })
    }

    /// Commits a claim, or refuses it. The first instance with the right token wins; the same
    /// instance may claim again. Returns `false` if another instance holds the placement, or if
    /// there is no such right.
    pub async fn claim(&self, claimant: Claimant<'_>) -> Result<bool> {
        patiently!(self, Same, {
            let claimed = query(sql!(
                "UPDATE containers SET instance = $1, session_hash = $2,
                   claimed_at = coalesce(claimed_at, $3)
                 WHERE handle = $4 AND token_hash = $5 AND state IN ('creating', 'created')
                   AND (instance IS NULL OR instance = $1)"
            ))
            .bind(claimant.instance)
            .bind(claimant.session_hash)
            .bind(now().0)
            .bind(claimant.handle.as_str())
            .bind(claimant.token_hash)
            .execute(&self.write)
            .await?;
            Ok(claimed == 1)
        })
    }

    /// Returns true if this token gives the right to a step that no shim has claimed.
    pub async fn may_claim(&self, handle: &Handle, token_hash: &str) -> Result<bool> {
        let count: i64 = query_scalar(sql!(
            "SELECT count(*) FROM containers WHERE handle = $1 AND token_hash = $2
               AND claimed_at IS NULL AND state IN ('creating', 'created')"
        ))
        .bind(handle.as_str())
        .bind(token_hash)
        .fetch_one(&self.read)
        .await?;
        Ok(count == 1)
    }

    /// Returns true if this is the token of a step that may still be claimed, by its first instance
    /// or by the same one again.
    pub async fn is_token_of(&self, handle: &Handle, token_hash: &str) -> Result<bool> {
        let count: i64 = query_scalar(sql!(
            "SELECT count(*) FROM containers WHERE handle = $1 AND token_hash = $2
               AND state IN ('creating', 'created')"
        ))
        .bind(handle.as_str())
        .bind(token_hash)
        .fetch_one(&self.read)
        .await?;
        Ok(count == 1)
    }

    /// Returns true if this session key was handed to the holder of the placement.
    pub async fn session_is_valid(&self, handle: &Handle, session_hash: &str) -> Result<bool> {
        let count: i64 = query_scalar(sql!(
            "SELECT count(*) FROM containers WHERE handle = $1 AND session_hash = $2
               AND state IN ('creating', 'created')"
        ))
        .bind(handle.as_str())
        .bind(session_hash)
        .fetch_one(&self.read)
        .await?;
        Ok(count == 1)
    }

    pub async fn container(&self, handle: &Handle) -> Result<Option<Container>> {
        let row: Option<Row> = query_as(sql!(columns!(), " WHERE c.handle = $1"))
            .bind(handle.as_str())
            .fetch_optional(&self.read)
            .await?;
        row.map(Container::try_from).transpose()
    }

    /// Takes back the right to claim, unless a shim has claimed already. Returns `false` if one
    /// has.
    pub async fn revoke_unclaimed(&self, handle: &Handle) -> Result<bool> {
        patiently!(self, Same, {
            let revoked = query(sql!(
                "UPDATE containers SET state = 'destroying', token_hash = NULL, request = NULL
                 WHERE handle = $1 AND claimed_at IS NULL"
            ))
            .bind(handle.as_str())
            .execute(&self.write)
            .await?;
            Ok(revoked == 1)
        })
    }

    /// Ends a placement's right to live; the sweeper does the rest.
    pub async fn doom_container(&self, handle: &Handle) -> Result<()> {
        patiently!(self, Same, {
            query(sql!(
                "UPDATE containers SET state = 'destroying', token_hash = NULL, request = NULL
                 WHERE handle = $1"
            ))
            .bind(handle.as_str())
            .execute(&self.write)
            .await?;
            Ok(())
        })
    }

    /// The runtime no longer has it.
    pub async fn forget_container(&self, handle: &Handle) -> Result<()> {
        patiently!(self, Same, {
            query(sql!(
                "UPDATE containers SET gone = TRUE WHERE handle = $1 AND state = 'destroying'"
            ))
            .bind(handle.as_str())
            .execute(&self.write)
            .await?;
            // A running build keeps the rows of its lost placements: they number the next one.
            query(sql!(
                "DELETE FROM containers WHERE handle = $1 AND gone
                   AND build_id IN (SELECT id FROM builds WHERE status NOT IN ('pending', 'started'))"
            ))
            .bind(handle.as_str())
            .execute(&self.write)
            .await?;
            Ok(())
        })
    }

    /// Lists the containers that are there or may be there.
    pub async fn containers(&self, filter: &ContainerFilter) -> Result<Vec<Container>> {
        let rows: Vec<Row> = query_as(sql!(
            columns!(),
            " JOIN builds b ON b.id = c.build_id
             WHERE NOT c.gone AND (CAST($1 AS BIGINT) IS NULL OR b.team_id = $1)
               AND (CAST($2 AS BIGINT) IS NULL OR c.build_id = $2)
               AND (CAST($3 AS TEXT) IS NULL OR c.worker = $3) ORDER BY c.created_at"
        ))
        .bind(filter.team.map(|team| team.0))
        .bind(filter.build.map(|build| build.0))
        .bind(
            filter
                .worker
                .as_ref()
                .map(|worker| worker.as_str().to_owned()),
        )
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(Container::try_from).collect()
    }
}
