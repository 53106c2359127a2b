//! Setting a pipeline, from a configuration that makes sense to the row in the store.

use std::sync::Arc;

use airside_config::{Config, FactsTooLarge, facts};
use airside_model::{
    TeamId, chain,
    facts::{PipelineFacts, SetThrough},
};
use airside_store::{
    InstanceVars, Parent, PipelineClaim, PipelineHead, PipelineObject, PipelineSummary,
    SavePipeline, Saved, Store, Team,
};
use serde_json::Value;

use crate::{
    AllowAll, ChangeRoute, Judge, JudgeError, PipelineChange, PipelineProposal, SaveClaim,
    SetRoute, TeamControl, change_route, literal_secrets, name::pipeline_reference, rules::set_by,
    set_route,
};

/// Sets pipelines, after whoever has a word about it was asked. Clones share their judge.
#[derive(Clone)]
pub struct PipelineSetter {
    store: Store,
    judge: Arc<dyn Judge>,
}

/// A pipeline that is to be set, whose configuration makes sense.
#[derive(Clone, Copy, Debug)]
pub struct SetPipeline<'a> {
    pub team: TeamId,
    pub team_name: &'a str,
    pub name: &'a str,
    pub instance_vars: &'a InstanceVars,
    pub config: &'a Config,
    pub through: SetThrough,
    /// The user (`oidc:ann`), build (`build:team/pipeline/job #1`) or object
    /// (`kubernetes:namespace/name`) that sets the pipeline.
    pub by: &'a str,
    /// The version that the change was made from; see [`SavePipeline::expected_version`].
    pub expected_version: Option<i64>,
    /// The build that sets the pipeline, through a step.
    pub parent: Option<Parent>,
    /// The object that sets the pipeline. Only, and always, with [`SetThrough::Object`].
    pub object: Option<&'a PipelineObject>,
}

impl SetPipeline<'_> {
    fn reference(&self) -> String {
        pipeline_reference(self.name, self.instance_vars)
    }
}

/// A pipeline that may be set, for [`PipelineSetter::save`].
#[derive(Debug)]
pub struct PreparedSet {
    route: SetRoute,
    /// Present if the judge is to see them once more, when it applies an object.
    facts: Option<PipelineFacts>,
}

/// The reasons for which a pipeline is not set or changed.
#[derive(Debug, thiserror::Error)]
pub enum SetPipelineError {
    /// Refused, in words for users: by a policy, or because an object sets the pipeline.
    #[error("{0}")]
    Refused(String),
    /// A cluster that was to judge does not answer.
    #[error("cluster {cluster}, which judges pipelines of this team, does not answer")]
    Unavailable { cluster: String },
    #[error("the configuration cannot be stored: it is not JSON")]
    NotJson,
    #[error(transparent)]
    Store(#[from] airside_store::Error),
}

impl From<JudgeError> for SetPipelineError {
    fn from(error: JudgeError) -> Self {
        match error {
            JudgeError::Refused(words) => Self::Refused(words),
            JudgeError::Unavailable { cluster } => Self::Unavailable { cluster },
        }
    }
}

/// What is too large to be judged is not allowed.
impl From<FactsTooLarge> for SetPipelineError {
    fn from(error: FactsTooLarge) -> Self {
        Self::Refused(chain(&error))
    }
}

type Result<T> = std::result::Result<T, SetPipelineError>;

impl PipelineSetter {
    /// Returns a setter that no cluster has a word about.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            judge: Arc::new(AllowAll),
        }
    }

    /// Asks this judge from now on.
    pub fn with_judge(mut self, judge: Arc<dyn Judge>) -> Self {
        self.judge = judge;
        self
    }

    /// Returns the namespace that speaks for a team of this name, whether there is one or not.
    pub fn control(&self, team: &str) -> Option<TeamControl> {
        self.judge.control(team)
    }

    /// Sets a pipeline.
    pub async fn set(&self, set: SetPipeline<'_>) -> Result<Saved> {
        let prepared = self.prepare_with(&set, false).await?;
        self.save(set, prepared).await
    }

    /// Asks whether the pipeline may be set, and sets nothing: for callers that have something to
    /// say before [`PipelineSetter::save`].
    pub async fn prepare(&self, set: &SetPipeline<'_>) -> Result<PreparedSet> {
        self.prepare_with(set, true).await
    }

    /// Asks only for the rules, and for no judge's opinion: for a pipeline that is already as it
    /// should be, whose setter wants to be noted.
    pub async fn check_route(&self, set: &SetPipeline<'_>) -> Result<()> {
        let control = self.judge.control(set.team_name);
        self.route(set, control.as_ref()).await?;
        Ok(())
    }

    /// Saves a pipeline that may be set. In mode `proxy` its object is applied first.
    pub async fn save(&self, set: SetPipeline<'_>, prepared: PreparedSet) -> Result<Saved> {
        let save = save_request(
            set.team,
            set.name,
            set.instance_vars,
            set.config,
            set.expected_version,
        )?;
        let claim = match prepared.route {
            SetRoute::Save(claim) | SetRoute::Judge(claim) => claim,
            SetRoute::Proxy => {
                let facts = prepared.facts.unwrap_or_default();
                let object = self.apply(&set, &facts, &save.config).await?;
                return self
                    .save_claimed(&set, save, PipelineClaim::Object(&object))
                    .await;
            }
        };
        let claim = match (claim, set.object) {
            (SaveClaim::Object, Some(object)) => PipelineClaim::Object(object),
            (SaveClaim::Server, _) | (SaveClaim::Object, None) => PipelineClaim::Server,
            (SaveClaim::Release, _) => PipelineClaim::Release,
        };
        self.save_claimed(&set, save, claim).await
    }

    /// Makes sure that all instances of a name may get another one.
    pub async fn permit_rename(&self, team: &Team, name: &str) -> Result<()> {
        let Some(control) = self.judge.control(&team.name) else {
            return Ok(());
        };
        let owner = self.store.object_of_any_instance(team.id, name).await?;
        let change = PipelineChange::Rename;
        match change_route(Some(&control), owner.as_ref(), change, name) {
            Ok(_) => Ok(()),
            Err(words) => Err(SetPipelineError::Refused(words)),
        }
    }

    /// Makes sure that a pipeline may be changed so, and deletes its object if that has to go
    /// first.
    pub async fn permit_change(
        &self,
        pipeline: &PipelineSummary,
        change: PipelineChange,
    ) -> Result<()> {
        let Some(control) = self.judge.control(&pipeline.team_name) else {
            return Ok(());
        };
        let owner = self.store.pipeline_object(pipeline.id).await?;
        let reference = pipeline_reference(&pipeline.name, &pipeline.instance_vars);
        let route = change_route(Some(&control), owner.as_ref(), change, &reference);
        match route.map_err(SetPipelineError::Refused)? {
            ChangeRoute::Proceed => Ok(()),
            ChangeRoute::DeleteObject(object) => {
                Ok(self.judge.delete(&pipeline.team_name, object).await?)
            }
        }
    }

    /// Decides how the pipeline is set; also returns what is there of it.
    async fn route(
        &self,
        set: &SetPipeline<'_>,
        control: Option<&TeamControl>,
    ) -> Result<(SetRoute, Option<PipelineHead>)> {
        // Without a cluster nobody reads who owns it.
        let head = match control {
            Some(_) => {
                self.store
                    .pipeline_head(set.team, set.name, set.instance_vars)
                    .await?
            }
            None => None,
        };
        let owner = head.as_ref().and_then(|head| head.object.as_ref());
        let route = set_route(control, owner, set.through, &set.reference());
        Ok((route.map_err(SetPipelineError::Refused)?, head))
    }

    /// With `rehearse` a proposal that will be applied is judged before, too.
    async fn prepare_with(&self, set: &SetPipeline<'_>, rehearse: bool) -> Result<PreparedSet> {
        let control = self.judge.control(set.team_name);
        let (route, head) = self.route(set, control.as_ref()).await?;
        let facts = match route {
            SetRoute::Save(_) => None,
            SetRoute::Judge(_) | SetRoute::Proxy => Some(PipelineFacts {
                through: Some(set.through),
                by: set.by.to_owned(),
                ..facts(set.config)?
            }),
        };
        if let (SetRoute::Proxy, Some(control)) = (route, &control) {
            refuse_stale(set, head.as_ref())?;
            refuse_clear_secrets(set, control)?;
        }
        let is_judged = rehearse || matches!(route, SetRoute::Judge(_));
        if let Some(facts) = facts.as_ref().filter(|_| is_judged) {
            self.judge.judge(&proposal(set, facts)).await?;
        }
        Ok(PreparedSet { route, facts })
    }

    async fn apply(
        &self,
        set: &SetPipeline<'_>,
        facts: &PipelineFacts,
        config: &Value,
    ) -> Result<PipelineObject> {
        Ok(self.judge.apply(&proposal(set, facts), config).await?)
    }

    async fn save_claimed(
        &self,
        set: &SetPipeline<'_>,
        save: SavePipeline,
        claim: PipelineClaim<'_>,
    ) -> Result<Saved> {
        let saved = self
            .store
            .save_claimed_pipeline(save, set.parent, claim)
            .await;
        saved.map_err(|error| match error {
            // An object came to set it since it was looked at.
            airside_store::Error::SetByObject(owner) => {
                SetPipelineError::Refused(set_by(&set.reference(), &owner, "change it there"))
            }
            error => error.into(),
        })
    }
}

fn proposal<'a>(set: &SetPipeline<'a>, facts: &'a PipelineFacts) -> PipelineProposal<'a> {
    PipelineProposal {
        team: set.team_name,
        pipeline: set.name,
        instance_vars: set.instance_vars,
        facts,
        by: set.by,
        through: set.through,
        build: set.parent.map(|parent| parent.build),
    }
}

/// An object must not be applied for a change that cannot be saved then.
fn refuse_stale(set: &SetPipeline<'_>, head: Option<&PipelineHead>) -> Result<()> {
    let current = head.filter(|head| !head.archived);
    match (
        set.expected_version,
        current.map(|head| head.config_version),
    ) {
        (Some(expected), Some(current)) if expected != current => {
            Err(airside_store::Error::ConfigVersion {
                current: Some(current),
            }
            .into())
        }
        _ => Ok(()),
    }
}

/// The store seals configurations; a cluster's database need not.
fn refuse_clear_secrets(set: &SetPipeline<'_>, control: &TeamControl) -> Result<()> {
    if control.clear_secrets {
        return Ok(());
    }
    let config = serde_json::to_value(set.config).map_err(|_| SetPipelineError::NotJson)?;
    let paths = literal_secrets(&config);
    if paths.is_empty() {
        return Ok(());
    }
    Err(SetPipelineError::Refused(format!(
        "pipeline {} would stand in cluster {} with secrets in clear, at {}; use ((variables)) there",
        set.reference(),
        control.cluster,
        paths.join(", ")
    )))
}

/// Returns the rows of a configuration, ready for the store.
pub fn save_request(
    team: TeamId,
    name: &str,
    instance_vars: &InstanceVars,
    config: &Config,
    expected_version: Option<i64>,
) -> Result<SavePipeline> {
    Ok(SavePipeline {
        team,
        name: name.to_owned(),
        instance_vars: instance_vars.clone(),
        config: serde_json::to_value(config).map_err(|_| SetPipelineError::NotJson)?,
        jobs: config.job_rows(),
        resources: config.resource_rows(),
        expected_version,
    })
}

#[cfg(test)]
mod tests;
