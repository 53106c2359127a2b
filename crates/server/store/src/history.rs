//! The scheduler's queries about the past: each a look-up in one index, however long the past is.
//!
//! `docs/decisions/0015-scheduler-view.md` lists them.

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId};

use crate::{
    Result, Store, VersionPlace,
    db::{Sql, fetch_for, query_as, query_scalar, sql},
};

/// The succeeded builds of a job that a walk is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrying {
    /// Builds that carry any version of the resource.
    Resource(ResourceId),
    Version(ResourceVersionId),
}

/// A build by its place among those of its job: a rerun stands right behind its original.
type BuildPlace = (BuildId, BuildId);

/// A succeeded build and what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarryingBuild {
    pub original: BuildId,
    pub build: BuildId,
    pub outputs: Vec<(ResourceId, ResourceVersionId)>,
    pub inputs: Vec<(ResourceId, ResourceVersionId)>,
}

impl CarryingBuild {
    fn new(original: i64, build: i64) -> Self {
        Self {
            original: BuildId(original),
            build: BuildId(build),
            outputs: Vec::new(),
            inputs: Vec::new(),
        }
    }

    fn add(&mut self, resource: i64, version: i64, is_output: bool) {
        let carried = (ResourceId(resource), ResourceVersionId(version));
        if is_output {
            self.outputs.push(carried)
        } else {
            self.inputs.push(carried)
        }
    }
}

/// The newest build of a job that used the highest version of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLastUse {
    pub order: i64,
    /// The upstream builds that its inputs came from: job, original, build.
    pub pipes: Vec<(JobId, BuildId, BuildId)>,
}

type PlaceRow = (i64, i64, bool);

fn place((id, order, enabled): PlaceRow) -> VersionPlace {
    VersionPlace {
        version: ResourceVersionId(id),
        order,
        enabled,
    }
}

/// SQL of the places of a resource's versions in its present history.
macro_rules! history {
    () => {
        "SELECT id, check_order, enabled FROM resource_versions
         WHERE resource_id = $1 AND scope = (SELECT scope FROM resources WHERE id = $1)"
    };
}

impl Store {
    /// Returns a version's place in its history, if the resource has it now.
    pub async fn version_place(
        &self,
        resource: ResourceId,
        version: ResourceVersionId,
    ) -> Result<Option<VersionPlace>> {
        let row: Option<PlaceRow> = query_as(sql!(
            "SELECT v.id, v.check_order, v.enabled FROM resource_versions v
             JOIN resources r ON r.id = v.resource_id AND r.scope = v.scope
             WHERE v.id = $1 AND v.resource_id = $2"
        ))
        .bind(version.0)
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.map(place))
    }

    /// Versions at or below a place, highest first.
    pub async fn versions_down(
        &self,
        resource: ResourceId,
        from: i64,
        limit: i64,
    ) -> Result<Vec<VersionPlace>> {
        let statement = sql!(
            history!(),
            " AND check_order <= $2 ORDER BY check_order DESC LIMIT $3"
        );
        self.places(statement, resource, from, limit).await
    }

    /// Versions at or above a place, lowest first.
    pub async fn versions_up(
        &self,
        resource: ResourceId,
        from: i64,
        limit: i64,
    ) -> Result<Vec<VersionPlace>> {
        let statement = sql!(
            history!(),
            " AND check_order >= $2 ORDER BY check_order LIMIT $3"
        );
        self.places(statement, resource, from, limit).await
    }

    async fn places(
        &self,
        statement: Sql,
        resource: ResourceId,
        from: i64,
        limit: i64,
    ) -> Result<Vec<VersionPlace>> {
        let rows: Vec<PlaceRow> = query_as(statement)
            .bind(resource.0)
            .bind(from)
            .bind(limit)
            .fetch_all(&self.read)
            .await?;
        Ok(rows.into_iter().map(place).collect())
    }

    /// Returns true if any build of the job had the version as its input of this name.
    pub async fn was_used(
        &self,
        job: JobId,
        input: &str,
        version: ResourceVersionId,
    ) -> Result<bool> {
        let row: Option<i64> = query_scalar(sql!(
            "SELECT build_id FROM job_uses WHERE job_id = $1 AND name = $2 AND version_id = $3"
        ))
        .bind(job.0)
        .bind(input)
        .bind(version.0)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.is_some())
    }

    /// The newest of the job's builds that used the highest of the versions that the resource has
    /// now.
    pub async fn last_use(
        &self,
        job: JobId,
        resource: ResourceId,
    ) -> Result<Option<StoredLastUse>> {
        let row: Option<(i64, i64)> = query_as(sql!(
            "SELECT check_order, build_id FROM job_uses WHERE job_id = $1 AND resource_id = $2
               AND scope = (SELECT scope FROM resources WHERE id = $2)
             ORDER BY check_order DESC, build_id DESC LIMIT 1"
        ))
        .bind(job.0)
        .bind(resource.0)
        .fetch_optional(&self.read)
        .await?;
        let Some((order, build)) = row else {
            return Ok(None);
        };
        let pipes: Vec<(i64, i64, i64)> = query_as(sql!(
            "SELECT b.job_id, coalesce(b.rerun_of, b.id), b.id
             FROM build_pipes p JOIN builds b ON b.id = p.from_build
             WHERE p.to_build = $1 AND b.job_id IS NOT NULL"
        ))
        .bind(build)
        .fetch_all(&self.read)
        .await?;
        let pipes = pipes.into_iter();
        Ok(Some(StoredLastUse {
            order,
            pipes: pipes
                .map(|(job, original, build)| (JobId(job), BuildId(original), BuildId(build)))
                .collect(),
        }))
    }

    /// Succeeded builds at or below a place, newest first.
    pub async fn builds_down(
        &self,
        job: JobId,
        carrying: Carrying,
        from: BuildPlace,
        limit: i64,
    ) -> Result<Vec<CarryingBuild>> {
        self.walk(job, carrying, from, limit, ("<=", "DESC")).await
    }

    /// Succeeded builds at or above a place, oldest first.
    pub async fn builds_up(
        &self,
        job: JobId,
        carrying: Carrying,
        from: BuildPlace,
        limit: i64,
    ) -> Result<Vec<CarryingBuild>> {
        self.walk(job, carrying, from, limit, (">=", "ASC")).await
    }

    async fn walk(
        &self,
        job: JobId,
        carrying: Carrying,
        (original, build): BuildPlace,
        limit: i64,
        (bound, order): (&str, &str),
    ) -> Result<Vec<CarryingBuild>> {
        let (column, what) = match carrying {
            Carrying::Resource(resource) => ("resource_id", resource.0),
            Carrying::Version(version) => ("version_id", version.0),
        };
        let text = format!(
            "SELECT b.original_id, b.build_id, c.resource_id, c.version_id, c.is_output
             FROM (SELECT DISTINCT original_id, build_id FROM build_carries
               WHERE job_id = $1 AND {column} = $2
                 AND (original_id, build_id) {bound} ($3, $4)
               ORDER BY original_id {order}, build_id {order} LIMIT $5) b
             JOIN build_carries c ON c.build_id = b.build_id
             ORDER BY b.original_id {order}, b.build_id {order}, c.resource_id, c.version_id"
        );
        let rows: Vec<(i64, i64, i64, i64, bool)> = query_as(Sql::built(text))
            .bind(job.0)
            .bind(what)
            .bind(original.0)
            .bind(build.0)
            .bind(limit)
            .fetch_all(&self.read)
            .await?;
        let mut builds: Vec<CarryingBuild> = Vec::new();
        for (original, build, resource, version, is_output) in rows {
            if builds.last().is_none_or(|last| last.build.0 != build) {
                builds.push(CarryingBuild::new(original, build));
            }
            if let Some(last) = builds.last_mut() {
                last.add(resource, version, is_output);
            }
        }
        Ok(builds)
    }

    /// The jobs and places of builds: job, original, build.
    pub async fn build_places(&self, builds: &[BuildId]) -> Result<Vec<(JobId, BuildId, BuildId)>> {
        let ids = builds.iter().map(|build| build.0.into()).collect();
        let head = "SELECT job_id, coalesce(rerun_of, id), id FROM builds
            WHERE job_id IS NOT NULL AND id >= $1 AND id IN";
        let rows: Vec<(i64, i64, i64)> = fetch_for(&self.read, head, 0_i64.into(), ids).await?;
        let rows = rows.into_iter();
        Ok(rows
            .map(|(job, original, build)| (JobId(job), BuildId(original), BuildId(build)))
            .collect())
    }

    /// Returns the versions that a succeeded build carries.
    pub async fn carried(&self, build: BuildId) -> Result<Option<CarryingBuild>> {
        let rows: Vec<(i64, i64, i64, bool)> = query_as(sql!(
            "SELECT original_id, resource_id, version_id, is_output FROM build_carries
             WHERE build_id = $1 ORDER BY resource_id, version_id"
        ))
        .bind(build.0)
        .fetch_all(&self.read)
        .await?;
        let Some((original, ..)) = rows.first() else {
            return Ok(None);
        };
        let mut carrying = CarryingBuild::new(*original, build.0);
        for (_, resource, version, is_output) in rows {
            carrying.add(resource, version, is_output);
        }
        Ok(Some(carrying))
    }
}
