//! Judges which topics a caller may follow: each like the page that it belongs to.

use std::collections::HashSet;

use airside_auth::{Action, Decision, Principal, Target, authorize};
use airside_live::{LiveSight, LiveTopic, ReaderRights, TopicAccess, TopicVerdict};
use airside_model::{BuildId, JobId, PipelineId};
use airside_store::{Store, Team};

use crate::{error::Result, scope::ScopeObjects};

/// Judges topics for a caller. `allowed` are those that were allowed before.
pub(super) async fn rights(
    store: &Store,
    principal: Option<&Principal>,
    topics: &[LiveTopic],
    allowed: &mut HashSet<LiveTopic>,
) -> Result<ReaderRights> {
    let judge = Judge {
        store,
        principal,
        teams: store.teams().await?,
    };
    let mut verdicts = Vec::with_capacity(topics.len());
    for topic in topics {
        let verdict = judge.judge(*topic, allowed.contains(topic)).await?;
        if matches!(verdict, TopicVerdict::Allowed(_)) {
            allowed.insert(*topic);
        }
        verdicts.push((*topic, verdict));
    }
    Ok(ReaderRights {
        sight: judge.sight(),
        topics: verdicts,
    })
}

struct Judge<'a> {
    store: &'a Store,
    principal: Option<&'a Principal>,
    teams: Vec<Team>,
}

/// A topic's object, as far as there is one.
#[derive(Default)]
struct TopicObject {
    exists: bool,
    scope: ScopeObjects,
    pipeline: Option<PipelineId>,
    job: Option<JobId>,
}

impl Judge<'_> {
    fn sight(&self) -> LiveSight {
        let Some(principal) = self.principal else {
            return LiveSight::Teams(Default::default());
        };
        if principal.is_admin() {
            return LiveSight::All;
        }
        let viewed = self.teams.iter().filter(|team| principal.can_view(team));
        LiveSight::Teams(viewed.map(|team| team.id).collect())
    }

    fn decide(&self, action: Action, target: Target<'_>) -> bool {
        authorize(action, self.principal, target) == Decision::Allow
    }

    async fn judge(&self, topic: LiveTopic, was_allowed: bool) -> Result<TopicVerdict> {
        let (action, object) = match topic {
            LiveTopic::Dashboard => return Ok(self.list(Action::ListAllPipelines)),
            LiveTopic::Builds => return Ok(self.list(Action::ListBuilds)),
            LiveTopic::Workers => return Ok(self.list(Action::ListWorkers)),
            LiveTopic::Pipeline(id) => (Action::GetPipeline, self.pipeline(id).await?),
            LiveTopic::Job(id) => (Action::GetJob, self.job(id).await?),
            LiveTopic::Build(id) => (Action::GetBuild, self.build(id).await?),
            LiveTopic::Resource(id) => {
                let row = self.store.resource_by_id(id).await?;
                let object = match row {
                    Some(row) => self.pipeline(row.pipeline).await?,
                    None => TopicObject::default(),
                };
                (Action::GetResource, object)
            }
        };
        let target = object.scope.target();
        if !object.exists {
            // A build's page says so to all who have logged in.
            let is_said = self.principal.is_some() && matches!(topic, LiveTopic::Build(_));
            let may_know = was_allowed || is_said || self.decide(action, target);
            return Ok(if may_know {
                TopicVerdict::Gone
            } else {
                TopicVerdict::Denied
            });
        }
        if !self.decide(action, target) {
            return Ok(TopicVerdict::Denied);
        }
        Ok(TopicVerdict::Allowed(TopicAccess {
            pipeline: object.pipeline,
            job: object.job,
            sees_output: self.decide(Action::BuildEvents, target),
        }))
    }

    /// Judges a list, of which a reader is told only what it may see.
    fn list(&self, action: Action) -> TopicVerdict {
        if self.decide(action, Target::default()) {
            TopicVerdict::Allowed(TopicAccess::default())
        } else {
            TopicVerdict::Denied
        }
    }

    fn team(&self, name: &str) -> Option<Team> {
        self.teams.iter().find(|team| team.name == name).cloned()
    }

    async fn pipeline(&self, id: PipelineId) -> Result<TopicObject> {
        let Some(pipeline) = self.store.pipeline_summary_by_id(id).await? else {
            return Ok(TopicObject::default());
        };
        let team = self.team(&pipeline.team_name);
        Ok(TopicObject {
            exists: true,
            scope: ScopeObjects::of_objects(team, Some(pipeline), None),
            pipeline: Some(id),
            job: None,
        })
    }

    async fn job(&self, id: JobId) -> Result<TopicObject> {
        let job = self.store.job_by_id(id).await?;
        let Some(job) = job.filter(|job| job.active) else {
            return Ok(TopicObject::default());
        };
        let Some(pipeline) = self.store.pipeline_summary_by_id(job.pipeline).await? else {
            return Ok(TopicObject::default());
        };
        let team = self.team(&pipeline.team_name);
        Ok(TopicObject {
            exists: true,
            pipeline: Some(pipeline.id),
            scope: ScopeObjects::of_objects(team, Some(pipeline), Some(job)),
            job: Some(id),
        })
    }

    async fn build(&self, id: BuildId) -> Result<TopicObject> {
        let Some(build) = self.store.build(id).await? else {
            return Ok(TopicObject::default());
        };
        let team = self.team(&build.team_name);
        let pipeline = match build.pipeline {
            Some(id) => self.store.pipeline_summary_by_id(id).await?,
            None => None,
        };
        let job = match build.job {
            Some(id) => self.store.job_by_id(id).await?,
            None => None,
        };
        Ok(TopicObject {
            exists: true,
            scope: ScopeObjects::of_objects(team, pipeline, job),
            pipeline: build.pipeline,
            job: build.job,
        })
    }
}
