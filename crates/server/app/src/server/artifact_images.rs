//! Artifacts become images of the server's own registry, each once.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_model::{StepLabels, VolumeId, chain};
use airside_registry::{
    Digest, Error, Grant, Registry, RepositoryAccess, RepositoryName, team_repository,
};
use airside_runtime_kubernetes::{ImagePublisher, Login, PublishError};
use airside_tasks::Panicked;
use airside_volumes::Volumes;
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Mutex as Turn;
use tracing::{info, warn};

/// Repository below a team's own for the artifacts of its builds.
const REPOSITORY: &str = "artifacts";
/// Lifetime of a pull login. A pod that waits longer for a node cannot pull any more.
const LOGIN: Duration = Duration::from_secs(6 * 3600);
/// Minimum age of images that are removed: a node may be about to pull a younger one.
const GRACE: Duration = Duration::from_secs(3600);
/// Number of remembered volumes at which those that are gone are forgotten.
const MANY: usize = 1024;

type Made = Arc<Turn<Option<Digest>>>;

#[derive(Clone)]
pub(crate) struct ArtifactImages {
    pub(crate) registry: Registry,
    volumes: Volumes,
    /// Digests of published volumes. The second request for a volume waits for the first. A restart
    /// costs packing again, and the result is the same image.
    known: Arc<Mutex<HashMap<(RepositoryName, VolumeId), Made>>>,
}

impl ArtifactImages {
    pub(crate) fn new(registry: Registry, volumes: Volumes) -> Self {
        Self {
            registry,
            volumes,
            known: Arc::default(),
        }
    }

    /// Removes images that no pod used for `unused_for`. Returns the number of removed blobs and
    /// manifests.
    pub(crate) async fn collect(&self, unused_for: Duration) -> u64 {
        let collected = self.registry.collect(unused_for.max(GRACE)).await;
        collected.unwrap_or_else(|error| {
            warn!(error = %chain(&error), "garbage of the image registry not collected");
            0
        })
    }

    fn made(&self, repository: &RepositoryName, volume: &VolumeId) -> Made {
        let mut known = self.known.lock();
        if known.len() >= MANY {
            known.retain(|(_, volume), _| self.volumes.exists(volume));
        }
        let key = (repository.clone(), volume.clone());
        known.entry(key).or_default().clone()
    }

    /// Blocks for as long as packing takes.
    fn ensure(
        &self,
        repository: &RepositoryName,
        volume: &VolumeId,
        before: Option<&Digest>,
    ) -> Result<Digest, Error> {
        if let Some(digest) = before
            && self.registry.is_there(repository, digest)
        {
            return Ok(digest.clone());
        }
        let folder = self.volumes.path(volume);
        let folder = folder.ok_or_else(|| Error::NoRootfs(volume.to_string()))?;
        let published = self.registry.publish(repository, &folder)?;
        let (image, new) = (&published.digest, published.is_new);
        info!(%volume, %repository, %image, new, "artifact published as an image");
        Ok(published.digest)
    }
}

/// Returns the repository for artifacts of the step's team. It has the team's number below the
/// name, so that a later team of that name does not get what an earlier one published.
fn repository(step: &StepLabels) -> RepositoryName {
    let team = team_repository(&step.team);
    let own = format!("{}/{REPOSITORY}", step.team_id);
    team.join(&own).unwrap_or(team)
}

#[async_trait]
impl ImagePublisher for ArtifactImages {
    async fn publish(&self, step: &StepLabels, volume: &VolumeId) -> Result<String, PublishError> {
        let repository = repository(step);
        let made = self.made(&repository, volume);
        let mut made = made.lock_owned().await;
        let (own, volume) = (self.clone(), volume.clone());
        let name = repository.clone();
        let before = made.clone();
        let ensured = airside_tasks::blocking("image of an artifact", move || {
            own.ensure(&repository, &volume, before.as_ref())
        });
        let panicked = |panicked: Panicked| PublishError::Refused(panicked.to_string());
        let digest = ensured.await.map_err(panicked)?.map_err(explain)?;
        *made = Some(digest.clone());
        Ok(format!("{name}@{digest}"))
    }

    fn login(&self, step: &StepLabels) -> Login {
        let grant = Grant::steady(repository(step), RepositoryAccess::Pull, LOGIN);
        Login {
            username: "airside".to_owned(),
            password: self.registry.token(&grant),
        }
    }
}

/// Distinguishes an image that cannot be published from a registry that fails.
fn explain(error: Error) -> PublishError {
    let words = chain(&error);
    match error {
        Error::NoRootfs(_) => PublishError::Refused(format!(
            "{words}; an image artifact comes from a get of an image, or from a task that makes one in rootfs format"
        )),
        Error::Pack(_) => PublishError::Refused(words),
        _ => PublishError::Unavailable(words),
    }
}

#[cfg(test)]
mod tests {
    use airside_model::{BuildId, StepKind, TeamId};

    use super::*;

    fn step(team: &str, team_id: i64) -> StepLabels {
        StepLabels {
            team: team.to_owned(),
            team_id: TeamId(team_id),
            pipeline: None,
            job: None,
            build: BuildId(1),
            build_name: "1".to_owned(),
            step: "s".to_owned(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        }
    }

    #[test]
    fn hostile_teams_pull_nothing_of_an_earlier_team_of_their_name() {
        let (earlier, later) = (step("main", 1), step("main", 2));
        let (own, grant) = (
            repository(&earlier),
            Grant::steady(repository(&later), RepositoryAccess::Pull, LOGIN),
        );
        assert_eq!(own.as_str(), "team/main/1/artifacts");
        assert!(!grant.allows(RepositoryAccess::Pull, &own));
        assert!(grant.allows(RepositoryAccess::Pull, &repository(&later)));
        assert!(team_repository("main").holds(&own), "its quota counts it");
        let spelled = repository(&step("Ünïque", 3));
        assert!(spelled.as_str().ends_with("/3/artifacts"), "{spelled}");
    }
}
