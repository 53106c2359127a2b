//! The checks as the API and the scheduler see them.

use airside_api::{CheckError, CheckSubject, Heard, WantedCheck};
use airside_checks::{Ask, AskError, Checks, Depth, Subject};
use airside_model::PipelineId;
use airside_scheduler::WantedChecks;
use airside_store::Build;
use async_trait::async_trait;

pub(crate) struct ApiChecks(pub(crate) Checks);

#[async_trait]
impl airside_api::Checks for ApiChecks {
    async fn check(&self, wanted: WantedCheck<'_>) -> Result<Build, CheckError> {
        let ask = Ask {
            pipeline: wanted.pipeline,
            subject: match wanted.subject {
                CheckSubject::Resource(name) => Subject::Resource(name),
                CheckSubject::ResourceType(name) => Subject::ResourceType(name),
                CheckSubject::Prototype(name) => Subject::Prototype(name),
            },
            from: wanted.from,
            depth: match wanted.shallow {
                true => Depth::Shallow,
                false => Depth::Deep,
            },
            by: Some(wanted.by),
        };
        self.0.ask(ask).await.map_err(refused)
    }

    async fn webhook(
        &self,
        pipeline: PipelineId,
        resource: &str,
        token: &str,
        payload: &[u8],
    ) -> Result<Heard, CheckError> {
        let asked = self.0.webhook(pipeline, resource, token, payload).await;
        Ok(match asked.map_err(refused)? {
            airside_checks::Heard::Checking(build) => Heard::Checking(build),
            airside_checks::Heard::Spared(why) => Heard::Spared(why),
        })
    }
}

fn refused(error: AskError) -> CheckError {
    match error {
        AskError::NotFound => CheckError::NotFound,
        AskError::WrongToken => CheckError::WrongToken,
        AskError::Store(error) | AskError::Engine(airside_engine::Error::Store(error)) => {
            CheckError::Store(error)
        }
        other => CheckError::Refused(other.to_string()),
    }
}

pub(crate) struct BuildChecks(pub(crate) Checks);

impl airside_scheduler::Checks for BuildChecks {
    fn ask(&self, wanted: WantedChecks) {
        for resource in wanted.resources {
            self.0.want(resource);
        }
    }
}
