//! Inputs and outputs of builds, and the inputs that the next build of a job would get.

mod many;
mod next;
#[cfg(test)]
mod tests;

use airside_model::{BuildId, MetadataField, PipelineId, ResourceId, ResourceVersionId, Version};

pub use many::{FirstInput, VersionUse};
pub use next::{NextInput, NextInputs};

use crate::{
    Build, News, Result, SavedVersions, ShownChange, Store,
    db::{Tx, here, query, query_as, query_scalar, sql},
    from_json,
    patience::patiently,
    versions,
};

/// A version that a build gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenInput {
    pub name: String,
    pub version: ResourceVersionId,
    /// No build of the job had it as this input before.
    pub first_occurrence: bool,
}

/// An input of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildInput {
    pub name: String,
    pub resource: ResourceId,
    pub resource_name: String,
    pub pipeline: PipelineId,
    pub id: ResourceVersionId,
    pub version: Version,
    pub first_occurrence: bool,
    /// True if the resource still has the version.
    pub is_there: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOutput {
    pub name: String,
    pub version: Version,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildVersions {
    pub inputs: Vec<BuildInput>,
    pub outputs: Vec<BuildOutput>,
}

type InputRow = (String, i64, String, i64, i64, String, bool, bool);

fn input(row: InputRow) -> Result<BuildInput> {
    let (name, resource, resource_name, pipeline, id, version, first_occurrence, is_there) = row;
    Ok(BuildInput {
        name,
        resource: ResourceId(resource),
        resource_name,
        pipeline: PipelineId(pipeline),
        id: ResourceVersionId(id),
        version: from_json(&version, "version")?,
        first_occurrence,
        is_there,
    })
}

impl Store {
    /// Gives a pending build its inputs and its place among the running ones. `false`: it is
    /// aborted, or it has them already.
    pub async fn give_inputs(
        &self,
        build: BuildId,
        inputs: &[GivenInput],
        pipes: &[BuildId],
    ) -> Result<bool> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            if !make_ready(&mut tx, build).await? {
                return Ok(false);
            }
            for input in inputs {
                query(sql!(
                    "INSERT INTO build_inputs (build_id, name, version_id, first_occurrence)
                     VALUES ($1, $2, $3, $4)"
                ))
                .bind(build.0)
                .bind(&input.name)
                .bind(input.version.0)
                .bind(input.first_occurrence)
                .execute(&mut tx)
                .await?;
            }
            for pipe in pipes {
                query(sql!(
                    "INSERT INTO build_pipes (to_build, from_build) VALUES ($1, $2)
                     ON CONFLICT (to_build, from_build) DO NOTHING"
                ))
                .bind(build.0)
                .bind(pipe.0)
                .execute(&mut tx)
                .await?;
            }
            note_uses(&mut tx, build).await?;
            tx.commit().await?;
            self.show(ShownChange::BuildChanged(build));
            Ok(true)
        })
    }

    /// Gives a rerun what its original had.
    pub async fn give_inputs_of(&self, build: BuildId, original: BuildId) -> Result<bool> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            if !make_ready(&mut tx, build).await? {
                return Ok(false);
            }
            query(sql!(
                "INSERT INTO build_inputs (build_id, name, version_id, first_occurrence)
                 SELECT $1, name, version_id, FALSE FROM build_inputs WHERE build_id = $2"
            ))
            .bind(build.0)
            .bind(original.0)
            .execute(&mut tx)
            .await?;
            query(sql!(
                "INSERT INTO build_pipes (to_build, from_build)
                 SELECT $1, from_build FROM build_pipes WHERE to_build = $2"
            ))
            .bind(build.0)
            .bind(original.0)
            .execute(&mut tx)
            .await?;
            note_uses(&mut tx, build).await?;
            tx.commit().await?;
            self.show(ShownChange::BuildChanged(build));
            Ok(true)
        })
    }

    /// Saves what a put made: the version, and that this build put it out.
    pub async fn save_output(
        &self,
        build: BuildId,
        name: &str,
        resource: ResourceId,
        version: &Version,
        metadata: &[MetadataField],
    ) -> Result<SavedVersions> {
        let made = [(version.clone(), metadata.to_vec())];
        patiently!(self, Same, {
            let _turn = self.turn.lock().await;
            let mut tx = self.write.begin(here!()).await?;
            let found = versions::save_within(&mut tx, resource, None, &made).await?;
            query(sql!(
                "INSERT INTO build_outputs (build_id, name, version_id)
                 SELECT $1, $2, id FROM resource_versions WHERE resource_id = $3 AND digest = $4
                 ON CONFLICT (build_id, name, version_id) DO NOTHING"
            ))
            .bind(build.0)
            .bind(name)
            .bind(resource.0)
            .bind(versions::digest(version))
            .execute(&mut tx)
            .await?;
            tx.commit().await?;
            if let SavedVersions::Saved(versions) = &found {
                let versions = versions.clone();
                self.announce(News::VersionsSaved { resource, versions });
            }
            Ok(found)
        })
    }

    pub async fn build_inputs(&self, build: BuildId) -> Result<Vec<BuildInput>> {
        let rows: Vec<InputRow> = query_as(sql!(
            "SELECT i.name, v.resource_id, r.name, r.pipeline_id, v.id, v.version,
               i.first_occurrence, r.scope = v.scope
             FROM build_inputs i JOIN resource_versions v ON v.id = i.version_id
             JOIN resources r ON r.id = v.resource_id
             WHERE i.build_id = $1 ORDER BY i.name"
        ))
        .bind(build.0)
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(input).collect()
    }

    pub async fn build_versions(&self, build: BuildId) -> Result<BuildVersions> {
        let rows: Vec<(String, String)> = query_as(sql!(
            "SELECT o.name, v.version FROM build_outputs o
             JOIN resource_versions v ON v.id = o.version_id
             WHERE o.build_id = $1 ORDER BY o.name, v.id"
        ))
        .bind(build.0)
        .fetch_all(&self.read)
        .await?;
        let outputs = rows.into_iter().map(|(name, version)| {
            let version = from_json(&version, "version")?;
            Ok(BuildOutput { name, version })
        });
        Ok(BuildVersions {
            inputs: self.build_inputs(build).await?,
            outputs: outputs.collect::<Result<_>>()?,
        })
    }

    /// Builds that had the version as an input, newest first.
    pub async fn builds_with_input(
        &self,
        version: ResourceVersionId,
        most: i64,
    ) -> Result<Vec<Build>> {
        let tail = "WHERE b.id IN (SELECT build_id FROM build_inputs WHERE version_id = $1
            ORDER BY build_id DESC LIMIT $2) ORDER BY b.id DESC";
        self.list(tail, &[version.0, most]).await
    }

    /// Builds that put the version out, newest first.
    pub async fn builds_with_output(
        &self,
        version: ResourceVersionId,
        most: i64,
    ) -> Result<Vec<Build>> {
        let tail = "WHERE b.id IN (SELECT build_id FROM build_outputs WHERE version_id = $1
            ORDER BY build_id DESC LIMIT $2) ORDER BY b.id DESC";
        self.list(tail, &[version.0, most]).await
    }
}

/// `false`: the build is not pending any more, aborted, or ready already.
async fn make_ready(tx: &mut Tx, build: BuildId) -> Result<bool> {
    let ready: Option<i64> = query_scalar(sql!(
        "UPDATE builds SET inputs_ready = TRUE
         WHERE id = $1 AND status = 'pending' AND NOT inputs_ready AND NOT aborted RETURNING id"
    ))
    .bind(build.0)
    .fetch_optional(tx)
    .await?;
    Ok(ready.is_some())
}

/// Notes for good which versions the build's job had as which input.
async fn note_uses(tx: &mut Tx, build: BuildId) -> Result<()> {
    query(sql!(
        "INSERT INTO job_uses
           (job_id, name, version_id, resource_id, scope, check_order, build_id)
         SELECT b.job_id, i.name, v.id, v.resource_id, v.scope, v.check_order, b.id
         FROM build_inputs i JOIN builds b ON b.id = i.build_id
         JOIN resource_versions v ON v.id = i.version_id
         WHERE i.build_id = $1 AND b.job_id IS NOT NULL
         ON CONFLICT (job_id, name, version_id) DO UPDATE SET build_id =
           CASE WHEN excluded.build_id > job_uses.build_id
             THEN excluded.build_id ELSE job_uses.build_id END"
    ))
    .bind(build.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// SQL that carries the versions of one table of a build's, which are its outputs or not.
macro_rules! carry {
    ($table:literal, $is_output:literal) => {
        concat!(
            "INSERT INTO build_carries
               (build_id, resource_id, version_id, job_id, original_id, is_output)
             SELECT b.id, v.resource_id, v.id, b.job_id, coalesce(b.rerun_of, b.id), ",
            $is_output,
            " FROM ",
            $table,
            " t JOIN builds b ON b.id = t.build_id
             JOIN resource_versions v ON v.id = t.version_id
             WHERE t.build_id = $1 AND b.job_id IS NOT NULL
             ON CONFLICT (build_id, resource_id, version_id) DO NOTHING"
        )
    };
}

/// Records the versions that a succeeded build carries on to the jobs after it: outputs first.
pub(crate) async fn note_carried(tx: &mut Tx, build: BuildId) -> Result<()> {
    for statement in [
        sql!(carry!("build_outputs", "TRUE")),
        sql!(carry!("build_inputs", "FALSE")),
    ] {
        query(statement).bind(build.0).execute(&mut *tx).await?;
    }
    Ok(())
}
