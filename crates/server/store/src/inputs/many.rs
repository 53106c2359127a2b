//! Inputs of many builds at once, for lists of builds and of versions.

use airside_model::{BuildId, BuildStatus, JobId, ResourceVersionId, Version};

use crate::{Result, Store, corrupt, db::fetch_for, from_json};

/// A version that no build of the job had before as this input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstInput {
    pub build: BuildId,
    pub resource_name: String,
    pub type_: String,
    pub version: Version,
}

/// The latest build of a job that had a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionUse {
    pub version: ResourceVersionId,
    pub job: JobId,
    pub job_name: String,
    pub build_name: String,
    pub status: BuildStatus,
}

impl Store {
    /// Lists the inputs of these builds that were new to their jobs, by build and name.
    pub async fn first_inputs(&self, builds: &[BuildId]) -> Result<Vec<FirstInput>> {
        let ids = builds.iter().map(|build| build.0.into()).collect();
        let head = "SELECT i.build_id, i.name, r.name, r.type, v.version FROM build_inputs i
            JOIN resource_versions v ON v.id = i.version_id
            JOIN resources r ON r.id = v.resource_id
            WHERE i.first_occurrence AND i.build_id > $1 AND i.build_id IN";
        let mut rows: Vec<(i64, String, String, String, String)> =
            fetch_for(&self.read, head, 0_i64.into(), ids).await?;
        rows.sort_unstable();
        let inputs = rows
            .into_iter()
            .map(|(build, _, resource_name, type_, version)| {
                Ok(FirstInput {
                    build: BuildId(build),
                    resource_name,
                    type_,
                    version: from_json(&version, "version")?,
                })
            });
        inputs.collect()
    }

    /// Lists the latest build of each job that had one of these versions, in the order of the jobs.
    pub async fn version_uses(&self, versions: &[ResourceVersionId]) -> Result<Vec<VersionUse>> {
        let ids = versions.iter().map(|version| version.0.into()).collect();
        let head = "SELECT j.ordering, u.build_id, u.version_id, j.id, j.name, b.name, b.status
            FROM job_uses u JOIN builds b ON b.id = u.build_id
            JOIN jobs j ON j.id = u.job_id AND j.active
            WHERE u.version_id > $1 AND u.version_id IN";
        let mut rows: Vec<(i64, i64, i64, i64, String, String, String)> =
            fetch_for(&self.read, head, 0_i64.into(), ids).await?;
        rows.sort_unstable();
        // A job may have the version as two inputs.
        rows.dedup_by_key(|row| (row.1, row.2, row.3));
        let uses = rows
            .into_iter()
            .map(|(_, _, version, job, job_name, build_name, status)| {
                Ok(VersionUse {
                    version: ResourceVersionId(version),
                    job: JobId(job),
                    job_name,
                    build_name,
                    status: BuildStatus::parse(&status)
                        .ok_or_else(|| corrupt(format!("build status {status}")))?,
                })
            });
        uses.collect()
    }
}
