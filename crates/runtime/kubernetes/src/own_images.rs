//! Images that are artifacts, as the server's own registry has them.
//!
//! Another crate publishes them: a runtime gets their names and the login with which a team
//! pulls.

use airside_model::{StepLabels, VolumeId};
use airside_runtime::{Error, Image, PlacementSpec};
use async_trait::async_trait;

use crate::{pull_secrets::Credential, refusal::unavailable, runtime::KubeRuntime};

/// Makes artifacts images that nodes can pull.
#[async_trait]
pub trait ImagePublisher: Send + Sync + 'static {
    /// Makes the volume an image of the step's team, unless it is one already. Returns
    /// `name@digest`, without the registry.
    async fn publish(&self, step: &StepLabels, volume: &VolumeId) -> Result<String, PublishError>;

    /// Returns the login with which a team's images are pulled. It is equal for hours, so that pods
    /// can share its Secret.
    fn login(&self, step: &StepLabels) -> Login;
}

/// A login for images of one team. It has no `Debug`, so that it is never printed.
pub struct Login {
    pub username: String,
    pub password: String,
}

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The artifact is not an image.
    #[error("{0}")]
    Refused(String),
    /// Asking again later may work.
    #[error("{0}")]
    Unavailable(String),
}

impl KubeRuntime {
    /// Returns the step's image as nodes can pull it, if it is an artifact and this target has a
    /// registry for it.
    pub(crate) async fn published(&self, spec: &PlacementSpec) -> Result<Option<String>, Error> {
        let (Image::Volume { volume }, Some(registry)) = (&spec.image, &self.target.registry)
        else {
            return Ok(None);
        };
        let Some(publisher) = self.publisher.get() else {
            return Err(Error::refused(format!(
                "the target {} names the registry {registry}, and this server serves none: start it \
                 with --registry-listen, or leave `registry` out",
                self.target.name
            )));
        };
        match publisher.publish(&spec.labels, volume).await {
            Ok(name) => Ok(Some(format!("{registry}/{name}"))),
            Err(PublishError::Refused(message)) => Err(Error::refused(message)),
            Err(PublishError::Unavailable(message)) => {
                let message = format!("the step's image cannot be published: {message}");
                Err(unavailable(&self.target.name, message))
            }
        }
    }

    /// Returns the credential with which the node pulls a step's image. For those in our registry
    /// it is the team's own login, also where a pipeline names one of them itself: it opens the
    /// images of no other team.
    pub(crate) fn credential(
        &self,
        spec: &PlacementSpec,
        published: Option<&str>,
    ) -> Option<Credential> {
        let given = Credential::of(spec);
        let named = match &spec.image {
            Image::Registry { reference, .. } => Some(reference.as_str()),
            _ => published,
        };
        let is_own = named.is_some_and(|reference| self.target.is_own(reference));
        match (given, self.publisher.get(), &self.target.registry) {
            (None, Some(publisher), Some(registry)) if is_own => {
                let login = publisher.login(&spec.labels);
                Some(Credential::own(&spec.labels.team, registry, login))
            }
            (given, ..) => given,
        }
    }
}
