//! Inputs that the next build of a job would get, as the scheduler last saw it.

use airside_model::{JobId, ResourceId, ResourceVersionId, Version};

use crate::{
    Result, ShownChange, Store,
    db::{here, query, query_as, sql},
    from_json,
};

/// One input of the next build: a version, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NextInput {
    pub name: String,
    pub chosen: Result<(ResourceVersionId, bool), String>,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NextInputs {
    pub inputs: Vec<NextInput>,
    /// One of them was never used by the job, trigger or not.
    pub has_new: bool,
}

impl NextInputs {
    /// Returns true if every input has a version.
    pub fn is_determined(&self) -> bool {
        self.inputs.iter().all(|input| input.chosen.is_ok())
    }
}

impl Store {
    /// Notes what the next build would get. For the scheduler, when that has changed.
    pub async fn save_next_inputs(&self, job: JobId, next: &NextInputs) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "UPDATE jobs SET inputs_determined = $1, has_new_inputs = $2 WHERE id = $3"
        ))
        .bind(next.is_determined())
        .bind(next.has_new)
        .bind(job.0)
        .execute(&mut tx)
        .await?;
        query(sql!("DELETE FROM next_inputs WHERE job_id = $1"))
            .bind(job.0)
            .execute(&mut tx)
            .await?;
        for input in &next.inputs {
            let (version, first, error) = match &input.chosen {
                Ok((version, first)) => (Some(version.0), *first, ""),
                Err(reason) => (None, false, reason.as_str()),
            };
            query(sql!(
                "INSERT INTO next_inputs (job_id, name, version_id, first_occurrence, error)
                 SELECT id, $2, $3, $4, $5 FROM jobs WHERE id = $1"
            ))
            .bind(job.0)
            .bind(&input.name)
            .bind(version)
            .bind(first)
            .bind(error)
            .execute(&mut tx)
            .await?;
        }
        tx.commit().await?;
        self.show(ShownChange::NextInputsChanged(job));
        Ok(())
    }

    pub async fn next_inputs(&self, job: JobId) -> Result<Option<NextInputs>> {
        let flags: Option<(bool,)> =
            query_as(sql!("SELECT has_new_inputs FROM jobs WHERE id = $1"))
                .bind(job.0)
                .fetch_optional(&self.read)
                .await?;
        let Some((has_new,)) = flags else {
            return Ok(None);
        };
        let rows: Vec<(String, Option<i64>, bool, String)> = query_as(sql!(
            "SELECT name, version_id, first_occurrence, error FROM next_inputs
             WHERE job_id = $1 ORDER BY name"
        ))
        .bind(job.0)
        .fetch_all(&self.read)
        .await?;
        let inputs = rows.into_iter().map(|(name, version, first, error)| {
            let chosen = match version {
                Some(id) => Ok((ResourceVersionId(id), first)),
                None => Err(error),
            };
            NextInput { name, chosen }
        });
        Ok(Some(NextInputs {
            inputs: inputs.collect(),
            has_new,
        }))
    }

    /// The versions that the next build would get, by input; nothing if one of them has none.
    pub async fn next_versions(
        &self,
        job: JobId,
    ) -> Result<Option<Vec<(String, ResourceId, Version)>>> {
        let determined: Option<(bool,)> =
            query_as(sql!("SELECT inputs_determined FROM jobs WHERE id = $1"))
                .bind(job.0)
                .fetch_optional(&self.read)
                .await?;
        if determined != Some((true,)) {
            return Ok(None);
        }
        let rows: Vec<(String, i64, String)> = query_as(sql!(
            "SELECT n.name, v.resource_id, v.version FROM next_inputs n
             JOIN resource_versions v ON v.id = n.version_id
             WHERE n.job_id = $1 ORDER BY n.name"
        ))
        .bind(job.0)
        .fetch_all(&self.read)
        .await?;
        let versions = rows.into_iter().map(|(name, resource, version)| {
            Ok((name, ResourceId(resource), from_json(&version, "version")?))
        });
        Ok(Some(versions.collect::<Result<_>>()?))
    }
}
