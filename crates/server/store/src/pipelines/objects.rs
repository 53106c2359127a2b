//! Objects of clusters that set pipelines: the row says which object does, and what of it was acted
//! on last.

use airside_model::{PipelineId, TeamId};

use super::{Parent, SavePipeline, Saved};
use crate::{
    Error, InstanceVars, News, Result, Store, corrupt,
    db::{On, Tx, here, query, query_as, sql},
    now,
};

/// The fate of a pipeline whose object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// The pipeline is archived: its builds stay, and applying the object again brings it back.
    #[default]
    Archive,
    Destroy,
    /// The pipeline goes on without an object.
    Keep,
}

impl DeletionPolicy {
    /// Returns the policy's name in objects and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Archive => "Archive",
            Self::Destroy => "Destroy",
            Self::Keep => "Keep",
        }
    }

    /// Reads a policy's name; `None` if there is no such policy.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Archive, Self::Destroy, Self::Keep]
            .into_iter()
            .find(|policy| policy.as_str() == name)
    }
}

/// An object of a cluster that sets a pipeline, as it was last acted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineObject {
    pub cluster: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub generation: i64,
    /// Tells contents apart. Contents may hold passwords, so that a plain digest of them could be
    /// guessed: use [`Store::object_hash`].
    pub hash: String,
    pub deletion_policy: DeletionPolicy,
    /// The `paused` of the object. It is acted on when it changes, and not kept up: what people do
    /// to the pipeline in between stays.
    pub applied_paused: Option<bool>,
    /// The `exposed` of the object, which is acted on like `paused`.
    pub applied_exposed: Option<bool>,
}

/// A pipeline without its configuration, and the object that sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineHead {
    pub id: PipelineId,
    pub archived: bool,
    pub config_version: i64,
    pub object: Option<PipelineObject>,
}

/// The consequence of a save for the object that sets the pipeline, if one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineClaim<'a> {
    /// A user or build sets the pipeline. Refused with [`Error::SetByObject`] if an object does.
    Server,
    /// A user or build sets the pipeline, and no object counts any more.
    Release,
    /// This object sets the pipeline from now on.
    Object(&'a PipelineObject),
}

#[derive(sqlx::FromRow)]
struct Row {
    pipeline_id: i64,
    cluster: String,
    namespace: String,
    name: String,
    uid: String,
    generation: i64,
    hash: String,
    deletion_policy: String,
    applied_paused: Option<bool>,
    applied_exposed: Option<bool>,
}

impl Row {
    fn read(self) -> Result<(PipelineId, PipelineObject)> {
        let policy = DeletionPolicy::parse(&self.deletion_policy)
            .ok_or_else(|| corrupt(format!("deletion policy {}", self.deletion_policy)))?;
        let object = PipelineObject {
            cluster: self.cluster,
            namespace: self.namespace,
            name: self.name,
            uid: self.uid,
            generation: self.generation,
            hash: self.hash,
            deletion_policy: policy,
            applied_paused: self.applied_paused,
            applied_exposed: self.applied_exposed,
        };
        Ok((PipelineId(self.pipeline_id), object))
    }
}

macro_rules! columns {
    () => {
        "SELECT o.pipeline_id, o.cluster, o.namespace, o.name, o.uid, o.generation, o.hash, \
         o.deletion_policy, o.applied_paused, o.applied_exposed FROM pipeline_objects o"
    };
}

async fn fetch<'a>(on: impl Into<On<'a>>, pipeline: PipelineId) -> Result<Option<PipelineObject>> {
    let row: Option<Row> = query_as(sql!(columns!(), " WHERE o.pipeline_id = $1"))
        .bind(pipeline.0)
        .fetch_optional(on)
        .await?;
    Ok(row.map(Row::read).transpose()?.map(|(_, object)| object))
}

impl Store {
    /// Makes or changes a pipeline, as [`Store::save_pipeline`] and [`Store::save_child_pipeline`]
    /// do, and in the same transaction says which object sets it. The object's `paused` and
    /// `exposed` are acted on if they are others than last time.
    pub async fn save_claimed_pipeline(
        &self,
        save: SavePipeline,
        parent: Option<Parent>,
        claim: PipelineClaim<'_>,
    ) -> Result<Saved> {
        let mut tx = self.write.begin(here!()).await?;
        let (mut saved, anew) = match parent {
            Some(parent) => self.save_child_within(&mut tx, save, parent).await?,
            None => self.save_within(&mut tx, save).await?,
        };
        let id = saved.pipeline.id;
        let settings = match claim {
            PipelineClaim::Server => {
                refuse_owned(&mut tx, id).await?;
                AppliedSettings::default()
            }
            PipelineClaim::Release => {
                release(&mut tx, id).await?;
                AppliedSettings::default()
            }
            PipelineClaim::Object(object) => claim_within(&mut tx, id, object).await?,
        };
        tx.commit().await?;
        settings.note_in(&mut saved);
        self.announce_set(&saved, anew);
        self.announce_settings(id, settings);
        Ok(saved)
    }

    /// Notes that the object sets the pipeline from now on, whose configuration at this version is
    /// the object's already. Fails with [`Error::ConfigVersion`] if the pipeline is archived or at
    /// another version.
    pub async fn claim_pipeline(
        &self,
        id: PipelineId,
        config_version: i64,
        object: &PipelineObject,
    ) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        // Whoever sets the pipeline meanwhile waits for this row.
        let held = query(sql!(
            "UPDATE pipelines SET archived = archived
             WHERE id = $1 AND config_version = $2 AND NOT archived"
        ))
        .bind(id.0)
        .bind(config_version)
        .execute(&mut tx)
        .await?;
        if held == 0 {
            return Err(Error::ConfigVersion { current: None });
        }
        let settings = claim_within(&mut tx, id, object).await?;
        tx.commit().await?;
        self.announce_settings(id, settings);
        self.announce(News::PipelineChanged(id));
        Ok(())
    }

    /// Forgets the object that set the pipeline: from now on users and builds do. `false`: no
    /// object did.
    pub async fn release_pipeline(&self, id: PipelineId) -> Result<bool> {
        let mut tx = self.write.begin(here!()).await?;
        let released = release(&mut tx, id).await?;
        tx.commit().await?;
        if released {
            self.announce(News::PipelineChanged(id));
        }
        Ok(released)
    }

    /// Returns a pipeline's version and the object that sets it.
    pub async fn pipeline_head(
        &self,
        team: TeamId,
        name: &str,
        vars: &InstanceVars,
    ) -> Result<Option<PipelineHead>> {
        let row: Option<(i64, bool, i64)> = query_as(sql!(
            "SELECT id, archived, config_version FROM pipelines
             WHERE team_id = $1 AND name = $2 AND instance_vars = $3"
        ))
        .bind(team.0)
        .bind(name)
        .bind(vars.to_string())
        .fetch_optional(&self.read)
        .await?;
        let Some((id, archived, config_version)) = row else {
            return Ok(None);
        };
        let id = PipelineId(id);
        Ok(Some(PipelineHead {
            id,
            archived,
            config_version,
            object: fetch(&self.read, id).await?,
        }))
    }

    /// Returns the object that sets the pipeline, if one does.
    pub async fn pipeline_object(&self, id: PipelineId) -> Result<Option<PipelineObject>> {
        fetch(&self.read, id).await
    }

    /// Lists the objects of a namespace that set pipelines, in the order of the pipelines' ids.
    pub async fn pipeline_objects(
        &self,
        cluster: &str,
        namespace: &str,
    ) -> Result<Vec<(PipelineId, PipelineObject)>> {
        let rows: Vec<Row> = query_as(sql!(
            columns!(),
            " WHERE o.cluster = $1 AND o.namespace = $2 ORDER BY o.pipeline_id"
        ))
        .bind(cluster)
        .bind(namespace)
        .fetch_all(&self.read)
        .await?;
        rows.into_iter().map(Row::read).collect()
    }

    /// Lists the namespaces that have objects which set pipelines, with their clusters.
    pub async fn places_of_pipeline_objects(&self) -> Result<Vec<(String, String)>> {
        query_as(sql!(
            "SELECT DISTINCT cluster, namespace FROM pipeline_objects ORDER BY cluster, namespace"
        ))
        .fetch_all(&self.read)
        .await
    }

    /// Returns the first object that sets a pipeline of this name, whichever instance it is.
    pub async fn object_of_any_instance(
        &self,
        team: TeamId,
        name: &str,
    ) -> Result<Option<PipelineObject>> {
        let row: Option<Row> = query_as(sql!(
            columns!(),
            " JOIN pipelines p ON p.id = o.pipeline_id
              WHERE p.team_id = $1 AND p.name = $2 AND NOT p.destroyed
              ORDER BY p.instance_ordering, p.id LIMIT 1"
        ))
        .bind(team.0)
        .bind(name)
        .fetch_optional(&self.read)
        .await?;
        Ok(row.map(Row::read).transpose()?.map(|(_, object)| object))
    }

    /// Returns a name for the content of an object that tells nothing of it without this
    /// database's key. It is another one under another key.
    pub fn object_hash(&self, content: &[u8]) -> String {
        self.sealer().fingerprint("pipeline object", content)
    }

    fn announce_settings(&self, id: PipelineId, settings: AppliedSettings) {
        match settings.paused {
            Some(true) => self.announce(News::PipelinePaused(id)),
            Some(false) => self.announce(News::PipelineUnpaused(id)),
            None => {}
        }
        if settings.exposed.is_some() {
            self.announce(News::PipelineChanged(id));
        }
    }
}

/// The settings of a pipeline that its object changes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AppliedSettings {
    paused: Option<bool>,
    exposed: Option<bool>,
}

impl AppliedSettings {
    /// A value is acted on when the object has another one than it had: people win in between.
    fn new(before: Option<&PipelineObject>, object: &PipelineObject) -> Self {
        let changed = |was: Option<bool>, is: Option<bool>| is.filter(|_| is != was);
        Self {
            paused: changed(
                before.and_then(|before| before.applied_paused),
                object.applied_paused,
            ),
            exposed: changed(
                before.and_then(|before| before.applied_exposed),
                object.applied_exposed,
            ),
        }
    }

    fn note_in(self, saved: &mut Saved) {
        if let Some(paused) = self.paused {
            saved.pipeline.paused = paused;
        }
        if let Some(exposed) = self.exposed {
            saved.pipeline.public = exposed;
        }
    }
}

async fn refuse_owned(tx: &mut Tx, id: PipelineId) -> Result<()> {
    match fetch(tx, id).await? {
        Some(object) => Err(Error::SetByObject(Box::new(object))),
        None => Ok(()),
    }
}

async fn release(tx: &mut Tx, id: PipelineId) -> Result<bool> {
    let released = query(sql!("DELETE FROM pipeline_objects WHERE pipeline_id = $1"))
        .bind(id.0)
        .execute(tx)
        .await?;
    Ok(released > 0)
}

/// Writes the row of the object, and the settings that it changes.
async fn claim_within(
    tx: &mut Tx,
    id: PipelineId,
    object: &PipelineObject,
) -> Result<AppliedSettings> {
    let before = fetch(&mut *tx, id).await?;
    let settings = AppliedSettings::new(before.as_ref(), object);
    query(sql!(
        "INSERT INTO pipeline_objects (pipeline_id, cluster, namespace, name, uid, generation, hash,
           deletion_policy, applied_paused, applied_exposed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (pipeline_id) DO UPDATE SET cluster = excluded.cluster, namespace = excluded.namespace,
           name = excluded.name, uid = excluded.uid, generation = excluded.generation, hash = excluded.hash,
           deletion_policy = excluded.deletion_policy, applied_paused = excluded.applied_paused,
           applied_exposed = excluded.applied_exposed"
    ))
    .bind(id.0)
    .bind(&object.cluster)
    .bind(&object.namespace)
    .bind(&object.name)
    .bind(&object.uid)
    .bind(object.generation)
    .bind(&object.hash)
    .bind(object.deletion_policy.as_str())
    .bind(object.applied_paused)
    .bind(object.applied_exposed)
    .execute(&mut *tx)
    .await?;
    apply_settings(tx, id, object, settings).await?;
    Ok(settings)
}

async fn apply_settings(
    tx: &mut Tx,
    id: PipelineId,
    object: &PipelineObject,
    settings: AppliedSettings,
) -> Result<()> {
    if let Some(paused) = settings.paused {
        let by = format!("kubernetes:{}/{}", object.namespace, object.name);
        query(sql!(
            "UPDATE pipelines SET paused = $1, paused_by = $2, paused_at = $3 WHERE id = $4"
        ))
        .bind(paused)
        .bind(paused.then_some(by))
        .bind(paused.then_some(now().0))
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    }
    if let Some(exposed) = settings.exposed {
        query(sql!("UPDATE pipelines SET public = $1 WHERE id = $2"))
            .bind(exposed)
            .bind(id.0)
            .execute(tx)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
