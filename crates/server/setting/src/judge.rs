//! The seam to clusters whose policies judge pipelines.

use airside_model::{BuildId, facts::PipelineFacts, facts::SetThrough};
use airside_store::{InstanceVars, PipelineObject};
use async_trait::async_trait;
use serde_json::Value;

use crate::TeamControl;

/// A pipeline that is about to be set.
#[derive(Clone, Copy, Debug)]
pub struct PipelineProposal<'a> {
    pub team: &'a str,
    pub pipeline: &'a str,
    pub instance_vars: &'a InstanceVars,
    /// What policies may know of the configuration. `through` and `by` are filled in.
    pub facts: &'a PipelineFacts,
    /// The user, build or object that sets the pipeline; also in the facts.
    pub by: &'a str,
    /// The way by which it is set; also in the facts.
    pub through: SetThrough,
    /// The build whose `set_pipeline` step sets it.
    pub build: Option<BuildId>,
}

/// The reasons for which a pipeline may not be set, changed or destroyed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// Refused, in the words of the policy or of the cluster, for users to read.
    #[error("{0}")]
    Refused(String),
    /// The cluster does not answer. Nothing is set: judging fails closed.
    #[error("cluster {cluster}, which judges pipelines of this team, does not answer")]
    Unavailable { cluster: String },
}

/// A cluster, or several, that has a word about the pipelines of some teams.
///
/// The server asks [`Judge::control`] first and follows [`crate::set_route`]. It calls the other
/// methods only for teams that have a control, and [`Judge::delete`] only with an object in that
/// control's namespace. Implementations bound their own time, and answer
/// [`JudgeError::Unavailable`] when it is over.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Returns the namespace that speaks for a team; `None` if no cluster has a word about it.
    fn control(&self, team: &str) -> Option<TeamControl>;

    /// Judges a proposal by a dry run, which leaves nothing in the cluster.
    async fn judge(&self, proposal: &PipelineProposal<'_>) -> Result<(), JudgeError>;

    /// Applies the object of a pipeline for a user or build (mode `proxy`), with this
    /// configuration, and returns the object as it is then. Refused with the name of another
    /// manager that owns the configuration. The store gets the returned object in the transaction
    /// that saves the configuration; if the server dies in between, the next look at the object
    /// saves both.
    async fn apply(
        &self,
        proposal: &PipelineProposal<'_>,
        config: &Value,
    ) -> Result<PipelineObject, JudgeError>;

    /// Deletes the object of a pipeline that a user destroys (mode `proxy`). Refused if another
    /// manager has a part in it. An object that is gone already counts as deleted.
    async fn delete(&self, team: &str, object: &PipelineObject) -> Result<(), JudgeError>;
}

/// The judge of a server without clusters: it has no word about any team.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

#[async_trait]
impl Judge for AllowAll {
    fn control(&self, _team: &str) -> Option<TeamControl> {
        None
    }

    async fn judge(&self, _proposal: &PipelineProposal<'_>) -> Result<(), JudgeError> {
        Ok(())
    }

    async fn apply(
        &self,
        _proposal: &PipelineProposal<'_>,
        _config: &Value,
    ) -> Result<PipelineObject, JudgeError> {
        Err(no_cluster())
    }

    async fn delete(&self, _team: &str, _object: &PipelineObject) -> Result<(), JudgeError> {
        Err(no_cluster())
    }
}

fn no_cluster() -> JudgeError {
    JudgeError::Refused("no cluster holds objects of pipelines".to_owned())
}
