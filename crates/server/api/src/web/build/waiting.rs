//! The reasons why a build waits, as the API's preparation has them.

use airside_config::{Config, Leaf};
use airside_store::now;
use airside_ui::{BuildWait, PlannedStep, WaitReason};

use super::ShownBuild;
use crate::{Blocking, Prepared, error::Result, web::links::pipeline_url};

/// The largest number of steps that the page lists of a job.
const MAX_PLANNED: usize = 50;

impl ShownBuild<'_> {
    pub(super) async fn waiting(&self) -> Result<BuildWait> {
        let build = self.build;
        let prepared = if build.inputs_ready {
            None
        } else {
            self.state.builds.preparation(build.id).await
        };
        let prepared = prepared.unwrap_or_else(|| Prepared::nothing_blocks(build.id));
        Ok(BuildWait {
            waited: now().since(build.created_at),
            since: build.created_at.seconds(),
            reasons: self.reasons(&prepared),
            planned: self.planned().await?,
        })
    }

    fn reasons(&self, prepared: &Prepared) -> Vec<WaitReason> {
        let told = &prepared.preparation;
        let link = |parts: &[&str]| {
            let pipeline = self.request.scope.pipeline().ok()?;
            Some(pipeline_url(pipeline, parts))
        };
        let job = self.build.job_name.as_deref().unwrap_or_default();
        let paused = |blocks: Blocking, what: &str, address: Option<String>| {
            let open = address.map(|address| (format!("Open the {what}"), address));
            let blocks = blocks == Blocking::Yes;
            WaitReason {
                text: if blocks {
                    format!("The {what} is paused")
                } else {
                    format!("The {what} is not paused")
                },
                of: None,
                is_met: !blocks,
                details: Vec::new(),
                links: open.filter(|_| blocks).into_iter().collect(),
            }
        };
        let full = told.max_running_builds == Blocking::Yes;
        let mut reasons = vec![
            paused(told.paused_pipeline, "pipeline", link(&[])),
            paused(told.paused_job, "job", link(&["jobs", job])),
            WaitReason {
                text: if full {
                    "As many builds run as the job allows at once".to_owned()
                } else {
                    "There is room among the builds that run".to_owned()
                },
                of: None,
                is_met: !full,
                details: Vec::new(),
                links: Vec::new(),
            },
        ];
        let inputs = prepared.inputs.iter().map(|(name, reason)| WaitReason {
            text: match reason {
                Some(_) => "has no version yet that the build can take".to_owned(),
                None => "has a version".to_owned(),
            },
            of: link(&["jobs", job]).map(|address| (name.clone(), address)),
            is_met: reason.is_none(),
            details: reason.iter().cloned().collect(),
            links: Vec::new(),
        });
        reasons.extend(inputs);
        reasons
    }

    /// Returns the steps that the job has as it is configured now.
    async fn planned(&self) -> Result<Vec<PlannedStep>> {
        let (Some(pipeline), Some(job)) = (self.build.pipeline, &self.build.job_name) else {
            return Ok(Vec::new());
        };
        let whole = self.state.store.pipeline_by_id(pipeline).await?;
        let config = whole.and_then(|it| serde_json::from_value::<Config>(it.config).ok());
        let mut planned = Vec::new();
        if let Some(job) = config.as_ref().and_then(|config| config.job(job)) {
            job.visit_leaves(&mut |leaf| {
                if planned.len() < MAX_PLANNED {
                    planned.push(planned_step(&leaf));
                }
            });
        }
        Ok(planned)
    }
}

fn planned_step(leaf: &Leaf<'_>) -> PlannedStep {
    let (kind, name) = match leaf {
        Leaf::Get(step) => ("get", step.name.clone()),
        Leaf::Put(step) => ("put", step.name.clone()),
        Leaf::Task(step) => ("task", step.name.clone()),
        Leaf::Run(step) => ("run", step.message.clone()),
        Leaf::SetPipeline(step) => ("set_pipeline", step.name.clone()),
        Leaf::LoadVar(step) => ("load_var", step.name.clone()),
    };
    PlannedStep { kind, name }
}
