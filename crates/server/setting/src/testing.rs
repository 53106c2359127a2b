//! A judge that answers as it is told, and remembers what it was asked.

use airside_store::{DeletionPolicy, PipelineObject};
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;

use crate::{FlyMode, Judge, JudgeError, PipelineProposal, TeamControl};

/// The judge of tests. It has a word about team `main` if it has a mode, whose namespace is
/// `ci-main` of cluster `c`.
pub struct ScriptedJudge {
    mode: Option<FlyMode>,
    answer: Mutex<Result<(), JudgeError>>,
    asked: Mutex<Vec<String>>,
}

impl ScriptedJudge {
    /// Returns a judge that gives this answer to everything.
    pub fn new(mode: Option<FlyMode>, answer: Result<(), JudgeError>) -> Self {
        Self {
            mode,
            answer: Mutex::new(answer),
            asked: Mutex::default(),
        }
    }

    /// Gives this answer from now on.
    pub fn answer_with(&self, answer: Result<(), JudgeError>) {
        *self.answer.lock() = answer;
    }

    /// Returns what was asked since the last call, in order.
    pub fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

/// Returns an object of cluster `c` that sets a pipeline.
pub fn pipeline_object(namespace: &str, name: &str) -> PipelineObject {
    PipelineObject {
        cluster: "c".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: "u".into(),
        generation: 1,
        hash: "h".into(),
        deletion_policy: DeletionPolicy::Archive,
        applied_paused: None,
        applied_exposed: None,
    }
}

#[async_trait]
impl Judge for ScriptedJudge {
    fn control(&self, team: &str) -> Option<TeamControl> {
        let fly = self.mode.filter(|_| team == "main")?;
        Some(TeamControl {
            cluster: "c".into(),
            namespace: "ci-main".into(),
            fly,
            clear_secrets: false,
        })
    }

    async fn judge(&self, proposal: &PipelineProposal<'_>) -> Result<(), JudgeError> {
        let PipelineProposal {
            team,
            pipeline,
            by,
            facts,
            ..
        } = proposal;
        assert_eq!(facts.by, *by, "the facts say who sets the pipeline");
        assert_eq!(facts.through, Some(proposal.through));
        let steps = facts.steps.len();
        let asked = format!("judge {team}/{pipeline} of {steps} steps by {by}");
        self.asked.lock().push(asked);
        self.answer.lock().clone()
    }

    async fn apply(
        &self,
        proposal: &PipelineProposal<'_>,
        config: &Value,
    ) -> Result<PipelineObject, JudgeError> {
        assert!(config["jobs"].is_array(), "the configuration is whole");
        let asked = format!("apply {} for {}", proposal.pipeline, proposal.by);
        self.asked.lock().push(asked);
        let answer = self.answer.lock().clone();
        answer.map(|()| pipeline_object("ci-main", "applied"))
    }

    async fn delete(&self, team: &str, object: &PipelineObject) -> Result<(), JudgeError> {
        let asked = format!("delete {} of {team}", object.name);
        self.asked.lock().push(asked);
        self.answer.lock().clone()
    }
}
