//! The steps of a build: its plan, the outline of its log, and the ends that the store has. None of
//! these grows with what the steps print.

use airside_build_picture::{BuildPicture, PictureState};
use airside_model::{BuildId, public_plan::public_plan};
use airside_store::{Micros, now};
use airside_ui::StepsContext;
use serde::Deserialize;

use super::ShownBuild;
use crate::{ApiState, error::ApiError, error::Result};

/// The part of a step's outcome that the picture shows.
#[derive(Deserialize)]
struct ShownOutcome {
    status: OutcomeStatus,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutcomeStatus {
    Succeeded,
    Failed,
    Errored,
    TimedOut,
    Aborted,
}

impl From<OutcomeStatus> for PictureState {
    fn from(status: OutcomeStatus) -> Self {
        match status {
            OutcomeStatus::Succeeded => Self::Succeeded,
            OutcomeStatus::Failed | OutcomeStatus::TimedOut => Self::Failed,
            OutcomeStatus::Errored => Self::Errored,
            OutcomeStatus::Aborted => Self::Aborted,
        }
    }
}

impl ShownBuild<'_> {
    /// Returns the picture of the build; an empty one, if the viewer may not see it.
    pub(super) async fn picture(&self) -> Result<BuildPicture> {
        if !self.sees_output || self.build.reaped_at.is_some() {
            return Ok(BuildPicture::default());
        }
        picture_of(self.state, self.build.id).await
    }

    pub(super) fn context(&self) -> StepsContext {
        let build = self.build;
        let new = self.versions.inputs.iter();
        let new = new.filter(|input| input.first_occurrence);
        StepsContext {
            build: build.id.0,
            now: millis(now()),
            began: build.started_at.map(millis),
            ended: build.ended_at.map(millis),
            new_inputs: new.map(|input| input.name.clone()).collect(),
            opened: self.request.query("step"),
            url: self.url_of(build),
            intercepts: self.request.may(airside_auth::Action::HijackContainer),
        }
    }
}

/// Returns the picture of any build.
pub(super) async fn picture_of(state: &ApiState, build: BuildId) -> Result<BuildPicture> {
    let plan = state.store.build_plan(build).await?;
    let mut picture = BuildPicture::new(plan.as_ref().map(public_plan).as_ref());
    let outline = state.logs.outline(build).await;
    let outline = outline.map_err(|error| {
        tracing::error!(%build, error = %airside_model::chain(&error), "outline of a log not read");
        ApiError::Internal("the log cannot be read")
    })?;
    for entry in outline {
        picture.take_envelope(entry.envelope.as_bytes());
    }
    for end in state.store.node_ends::<ShownOutcome>(build).await? {
        let (began, ended) = (millis(end.started_at), millis(end.ended_at));
        let outcome = end.outcome.status.into();
        picture.set_end(end.plan.as_str(), outcome, began, ended);
    }
    Ok(picture)
}

fn millis(time: Micros) -> i64 {
    time.0.div_euclid(1_000)
}
