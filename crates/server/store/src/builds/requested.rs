//! Builds that objects of clusters ask for: one at most for each object, however often it asks.

use airside_model::{BuildId, JobId};

use super::{Build, NewBuild, create_within, fetch, scheduled::rerun_within};
use crate::{
    Error, Micros, Result, Store,
    db::{Tx, here, query, query_as, sql},
    now,
    patience::patiently,
};

/// The result of asking for a build in the name of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestedBuild {
    /// The build was created by this call.
    Created(Build),
    /// An earlier call created the build.
    Existing(Build),
    /// An earlier call created a build that was collected meanwhile. No other is created.
    Collected(BuildId),
}

impl RequestedBuild {
    /// Returns the build, if it is still there.
    pub fn build(&self) -> Option<&Build> {
        match self {
            Self::Created(build) | Self::Existing(build) => Some(build),
            Self::Collected(_) => None,
        }
    }
}

impl Store {
    /// Creates a build of a job for the object with this uid, and calls `note` before any listener
    /// hears of it. If the object has a build already, that one is returned. Fails with
    /// [`Error::RequestedOtherwise`] if the uid stands for a build of another job.
    pub async fn create_requested_build(
        &self,
        new: NewBuild<'_>,
        uid: &str,
        note: impl Fn(BuildId) + Send + Sync,
    ) -> Result<RequestedBuild> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            if let Some(earlier) = take_request(&mut tx, new.job, uid).await? {
                return Ok(earlier);
            }
            let build = create_within(&mut tx, &new).await?;
            note_build(&mut tx, uid, build.id).await?;
            tx.commit().await?;
            note(build.id);
            self.announce_created(build.id, new.job);
            Ok(RequestedBuild::Created(build))
        })
    }

    /// Creates a build that repeats another for the object with this uid, as
    /// [`Store::create_requested_build`] does.
    pub async fn create_requested_rerun(
        &self,
        of: &Build,
        job: JobId,
        created_by: &str,
        uid: &str,
    ) -> Result<RequestedBuild> {
        patiently!(self, Same, {
            let mut tx = self.write.begin(here!()).await?;
            if let Some(earlier) = take_request(&mut tx, job, uid).await? {
                return Ok(earlier);
            }
            let build = rerun_within(&mut tx, of, created_by).await?;
            note_build(&mut tx, uid, build.id).await?;
            tx.commit().await?;
            self.announce_created(build.id, job);
            Ok(RequestedBuild::Created(build))
        })
    }

    /// Returns the build that the object with this uid asked for, if it did.
    pub async fn requested_build(&self, uid: &str) -> Result<Option<BuildId>> {
        let row: Option<(i64,)> =
            query_as(sql!("SELECT build_id FROM build_requests WHERE uid = $1"))
                .bind(uid)
                .fetch_optional(&self.read)
                .await?;
        Ok(row.map(|(id,)| BuildId(id)))
    }

    /// Returns the uid of the object that asked for the build, if one did.
    pub async fn build_request(&self, build: BuildId) -> Result<Option<String>> {
        let row: Option<(String,)> =
            query_as(sql!("SELECT uid FROM build_requests WHERE build_id = $1"))
                .bind(build.0)
                .fetch_optional(&self.read)
                .await?;
        Ok(row.map(|(uid,)| uid))
    }

    /// Returns the builds of a job that a mirror shows, newest first: those that have not ended, at
    /// most `unfinished`, and the newest that have, at most `finished`.
    pub async fn newest_builds(
        &self,
        job: JobId,
        unfinished: i64,
        finished: i64,
    ) -> Result<Vec<Build>> {
        let tail = "WHERE b.id IN (
                SELECT w.id FROM (SELECT u.id FROM builds u
                  WHERE u.job_id = $1 AND u.status IN ('pending', 'started')
                  ORDER BY u.id DESC LIMIT $2) w
                UNION ALL
                SELECT e.id FROM (SELECT f.id FROM builds f
                  WHERE f.job_id = $1 AND f.status NOT IN ('pending', 'started')
                  ORDER BY f.id DESC LIMIT $3) e)
            ORDER BY b.id DESC";
        self.list(tail, &[job.0, unfinished, finished]).await
    }

    /// Forgets requests from before then whose builds are gone, a part of them at a time, and
    /// returns their number.
    pub async fn collect_build_requests(&self, before: Micros, most: i64) -> Result<u64> {
        query(sql!(
            "DELETE FROM build_requests WHERE uid IN (
               SELECT q.uid FROM build_requests q WHERE q.created_at < $1
                 AND NOT EXISTS (SELECT 1 FROM builds b WHERE b.id = q.build_id)
               LIMIT $2)"
        ))
        .bind(before.0)
        .bind(most)
        .execute(&self.write)
        .await
    }
}

/// Takes the uid for a build that is created next; returns the build if an earlier call took it. Of
/// two calls at once, the second waits for the first.
async fn take_request(tx: &mut Tx, job: JobId, uid: &str) -> Result<Option<RequestedBuild>> {
    let taken = query(sql!(
        "INSERT INTO build_requests (uid, job_id, build_id, created_at) VALUES ($1, $2, 0, $3)
         ON CONFLICT (uid) DO NOTHING"
    ))
    .bind(uid)
    .bind(job.0)
    .bind(now().0)
    .execute(&mut *tx)
    .await?;
    if taken > 0 {
        return Ok(None);
    }
    let (of_job, build): (i64, i64) = query_as(sql!(
        "SELECT job_id, build_id FROM build_requests WHERE uid = $1"
    ))
    .bind(uid)
    .fetch_one(&mut *tx)
    .await?;
    if of_job != job.0 {
        let uid = uid.to_owned();
        return Err(Error::RequestedOtherwise { uid });
    }
    let id = BuildId(build);
    Ok(Some(match fetch(tx, id).await? {
        Some(build) => RequestedBuild::Existing(build),
        None => RequestedBuild::Collected(id),
    }))
}

async fn note_build(tx: &mut Tx, uid: &str, build: BuildId) -> Result<()> {
    query(sql!(
        "UPDATE build_requests SET build_id = $1 WHERE uid = $2"
    ))
    .bind(build.0)
    .bind(uid)
    .execute(tx)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
