//! Causality: the builds and versions that a version came from, and those that came of it.
//!
//! It is a walk, so it takes as long as its result is large; beyond a limit it gives up.

use std::collections::{BTreeMap, BTreeSet};

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId, Version};

use crate::{
    Result, Store,
    db::{fetch_for, query_as, sql},
    from_json,
};

/// The direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Builds that took it in, what they put out, and so on.
    Downstream,
    /// Builds that put it out, what they took in, and so on.
    Upstream,
}

/// A build that hangs together with the version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedBuild {
    pub id: BuildId,
    pub name: String,
    pub status: String,
    pub job: JobId,
    pub job_name: String,
}

/// A version that one of the builds took in or put out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedVersion {
    pub id: ResourceVersionId,
    pub version: Version,
    pub resource: ResourceId,
    pub resource_name: String,
    pub build: BuildId,
    pub is_output: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causality {
    pub builds: Vec<RelatedBuild>,
    /// One for each time that a build took in or put out a version.
    pub versions: Vec<RelatedVersion>,
}

/// The most builds that a walk finds, as in Concourse.
const MOST_BUILDS: usize = 5000;
const MOST_VERSIONS: usize = 25_000;

impl Store {
    /// `None`: there is too much of it.
    pub async fn causality(
        &self,
        version: ResourceVersionId,
        direction: Direction,
    ) -> Result<Option<Causality>> {
        let (to_builds, to_versions) = match direction {
            Direction::Downstream => (
                "SELECT build_id FROM build_inputs WHERE version_id > $1 AND version_id IN",
                "SELECT version_id FROM build_outputs WHERE build_id > $1 AND build_id IN",
            ),
            Direction::Upstream => (
                "SELECT build_id FROM build_outputs WHERE version_id > $1 AND version_id IN",
                "SELECT version_id FROM build_inputs WHERE build_id > $1 AND build_id IN",
            ),
        };
        let (mut builds, mut versions) = (BTreeSet::new(), BTreeSet::from([version.0]));
        let mut new = vec![version.0];
        while !new.is_empty() {
            let mut found = self.neighbours(to_builds, &new).await?;
            found.retain(|build| builds.insert(*build));
            let mut next = self.neighbours(to_versions, &found).await?;
            next.retain(|version| versions.insert(*version));
            if builds.len() >= MOST_BUILDS || versions.len() >= MOST_VERSIONS {
                return Ok(None);
            }
            new = next;
        }
        self.related(&builds.into_iter().collect::<Vec<_>>()).await
    }

    async fn neighbours(&self, head: &str, of: &[i64]) -> Result<Vec<i64>> {
        let ids = of.iter().map(|id| (*id).into()).collect();
        let rows: Vec<(i64,)> = fetch_for(&self.read, head, 0_i64.into(), ids).await?;
        let unique: BTreeSet<i64> = rows.into_iter().map(|(id,)| id).collect();
        Ok(unique.into_iter().collect())
    }

    /// The builds, and all that they took in and put out.
    async fn related(&self, builds: &[i64]) -> Result<Option<Causality>> {
        let ids = || builds.iter().map(|id| (*id).into()).collect();
        let head = "SELECT b.id, b.name, b.status, j.id, j.name FROM builds b
            JOIN jobs j ON j.id = b.job_id WHERE b.id > $1 AND b.id IN";
        let rows: Vec<(i64, String, String, i64, String)> =
            fetch_for(&self.read, head, 0_i64.into(), ids()).await?;
        let rows: BTreeMap<i64, _> = rows.into_iter().map(|row| (row.0, row)).collect();
        let related = rows
            .into_values()
            .map(|(id, name, status, job, job_name)| RelatedBuild {
                id: BuildId(id),
                name,
                status,
                job: JobId(job),
                job_name,
            });
        let mut causality = Causality {
            builds: related.collect(),
            versions: Vec::new(),
        };
        for (table, is_output) in [("build_inputs", false), ("build_outputs", true)] {
            let head = format!(
                "SELECT v.id, v.version, r.id, r.name, u.build_id FROM {table} u
                 JOIN resource_versions v ON v.id = u.version_id
                 JOIN resources r ON r.id = v.resource_id WHERE u.build_id > $1 AND u.build_id IN"
            );
            let rows: Vec<(i64, String, i64, String, i64)> =
                fetch_for(&self.read, &head, 0_i64.into(), ids()).await?;
            for (id, version, resource, resource_name, build) in rows {
                causality.versions.push(RelatedVersion {
                    id: ResourceVersionId(id),
                    version: from_json(&version, "version")?,
                    resource: ResourceId(resource),
                    resource_name,
                    build: BuildId(build),
                    is_output,
                });
            }
        }
        let too_many = causality.versions.len() >= MOST_VERSIONS;
        Ok((!too_many).then_some(causality))
    }

    /// Every version of a pipeline's resources and what its builds did with them: for people who
    /// look for a fault in the scheduler. Resource, version, place, scope.
    pub async fn all_places(
        &self,
        pipeline: airside_model::PipelineId,
    ) -> Result<Vec<(ResourceId, ResourceVersionId, i64, i64)>> {
        let rows: Vec<(i64, i64, i64, i64)> = query_as(sql!(
            "SELECT v.resource_id, v.id, v.check_order, v.scope FROM resource_versions v
             JOIN resources r ON r.id = v.resource_id AND r.scope = v.scope
             WHERE r.pipeline_id = $1 AND r.active ORDER BY v.resource_id, v.check_order"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        let places = rows.into_iter();
        Ok(places
            .map(|(resource, version, order, scope)| {
                (
                    ResourceId(resource),
                    ResourceVersionId(version),
                    order,
                    scope,
                )
            })
            .collect())
    }

    /// Lists the inputs of builds of the pipeline's jobs, or the outputs of those that succeeded:
    /// build, job, resource, version, and the name of an input.
    pub async fn all_uses(
        &self,
        pipeline: airside_model::PipelineId,
    ) -> Result<Vec<(BuildId, JobId, ResourceVersionId, Option<String>)>> {
        let rows: Vec<(i64, i64, i64, Option<String>)> = query_as(sql!(
            "SELECT b.id, b.job_id, i.version_id, i.name FROM builds b
             JOIN build_inputs i ON i.build_id = b.id
             WHERE b.pipeline_id = $1 AND b.job_id IS NOT NULL
             UNION ALL
             SELECT b.id, b.job_id, o.version_id, NULL FROM builds b
             JOIN build_outputs o ON o.build_id = b.id
             WHERE b.pipeline_id = $1 AND b.job_id IS NOT NULL AND b.status = 'succeeded'"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        let uses = rows.into_iter();
        Ok(uses
            .map(|(build, job, version, name)| {
                (BuildId(build), JobId(job), ResourceVersionId(version), name)
            })
            .collect())
    }

    /// Reruns of the pipeline's builds: build, job, original.
    pub async fn all_reruns(
        &self,
        pipeline: airside_model::PipelineId,
    ) -> Result<Vec<(BuildId, JobId, BuildId)>> {
        let rows: Vec<(i64, i64, i64)> = query_as(sql!(
            "SELECT id, job_id, rerun_of FROM builds
             WHERE pipeline_id = $1 AND rerun_of IS NOT NULL AND job_id IS NOT NULL ORDER BY id"
        ))
        .bind(pipeline.0)
        .fetch_all(&self.read)
        .await?;
        let reruns = rows.into_iter();
        Ok(reruns
            .map(|(build, job, original)| (BuildId(build), JobId(job), BuildId(original)))
            .collect())
    }
}
