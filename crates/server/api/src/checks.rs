//! The seam to whatever checks.

use airside_model::{PipelineId, Version};
use airside_store::Build;
use async_trait::async_trait;

/// What is to be checked, by its name in the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckSubject<'a> {
    Resource(&'a str),
    ResourceType(&'a str),
    Prototype(&'a str),
}

/// A check that somebody wants.
pub struct WantedCheck<'a> {
    pub pipeline: PipelineId,
    pub subject: CheckSubject<'a>,
    pub from: Option<Version>,
    /// Whether the types that it is made with are left as they are, unless it is time to check them.
    pub shallow: bool,
    pub by: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("there is nothing of that name to check")]
    NotFound,
    #[error("the token is not the resource's")]
    WrongToken,
    /// It cannot be checked; says why.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] airside_store::Error),
}

/// What became of a webhook.
pub enum Heard {
    Checking(Box<Build>),
    /// What it tells of does not concern the resource; says why.
    Spared(String),
}

#[async_trait]
pub trait Checks: Send + Sync {
    /// Creates a build that checks and sees that it starts.
    async fn check(&self, wanted: WantedCheck<'_>) -> Result<Build, CheckError>;

    /// The same for whoever knows the resource's token, unless what they tell of is no reason to.
    async fn webhook(
        &self,
        pipeline: PipelineId,
        resource: &str,
        token: &str,
        payload: &[u8],
    ) -> Result<Heard, CheckError>;
}
