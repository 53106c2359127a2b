//! Checks that somebody asks for by name: builds from the start.

use airside_config::{
    CheckOptions, Config, check_plan, prototype_check_plan, resource_type_check_plan,
};
use airside_model::{PipelineId, Plan, PlanId, ResourceId, Version};
use airside_store::{Build, CheckReason, NewCheck, Pipeline};
use serde_json::Value;

use crate::{Checks, payload, webhook_tokens::Key};

/// What is to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    Resource(&'a str),
    ResourceType(&'a str),
    Prototype(&'a str),
}

/// Whether the types that a subject is made with are checked as well, though it may be too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Shallow,
    Deep,
}

pub struct Ask<'a> {
    pub pipeline: PipelineId,
    pub subject: Subject<'a>,
    pub from: Option<Version>,
    pub depth: Depth,
    pub by: Option<&'a str>,
}

/// What became of a webhook.
pub enum Heard {
    Checking(Box<Build>),
    /// What it tells of does not concern the resource; says why.
    Spared(String),
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is no such pipeline or subject.
    #[error("there is nothing of that name to check")]
    NotFound,
    #[error("the token is not the resource's")]
    WrongToken,
    #[error("the webhook token cannot be looked up: {0}")]
    NoToken(String),
    #[error("{0}")]
    Plan(#[from] airside_config::PlanError),
    #[error(transparent)]
    Store(#[from] airside_store::Error),
    #[error(transparent)]
    Engine(#[from] airside_engine::Error),
}

impl Checks {
    /// Creates a build that checks, and sets it going.
    pub async fn ask(&self, ask: Ask<'_>) -> Result<Build, AskError> {
        let (pipeline, config) = self.pipeline(ask.pipeline).await?;
        let plan = plan(&config, &ask)?;
        let resource = match ask.subject {
            Subject::Resource(name) => Some(self.resource(&pipeline, name).await?),
            _ => None,
        };
        let check = NewCheck {
            team: pipeline.team,
            pipeline: pipeline.id,
            resource,
            plan: &plan,
            reason: CheckReason::Asked { by: ask.by },
        };
        let (build, _) = self.parts.engine.check(check).await?;
        Ok(build)
    }

    /// The same for whoever knows a resource's token. Of what else they say nothing is believed, but that a push to
    /// some other branch is no reason to look.
    pub async fn webhook(
        &self,
        pipeline: PipelineId,
        resource: &str,
        token: &str,
        payload: &[u8],
    ) -> Result<Heard, AskError> {
        let (found, config) = self.pipeline(pipeline).await?;
        let definition = config.resource(resource).ok_or(AskError::NotFound)?;
        let key = Key {
            pipeline,
            resource: resource.to_owned(),
            template: definition.webhook_token.clone(),
        };
        let look = async || self.webhook_token(&found, &config, &key.template).await;
        if !self.parts.tokens.is_right(&key, token, look).await? {
            return Err(AskError::WrongToken);
        }
        if let Some(why) = self.spares(&found, &config, definition, payload).await {
            return Ok(Heard::Spared(why));
        }
        let ask = Ask {
            pipeline,
            subject: Subject::Resource(resource),
            from: None,
            depth: Depth::Shallow,
            by: None,
        };
        Ok(Heard::Checking(Box::new(self.ask(ask).await?)))
    }

    /// The value of a resource's own token.
    async fn webhook_token(
        &self,
        pipeline: &Pipeline,
        config: &Config,
        template: &str,
    ) -> Result<String, AskError> {
        let template = Value::String(template.to_owned());
        match self.parts.engine.fill(pipeline, config, template).await {
            Ok((Value::String(own), _)) => Ok(own),
            Ok((other, _)) => Ok(other.to_string()),
            Err(error) => Err(AskError::NoToken(error.to_string())),
        }
    }

    /// Why the payload is no reason to check the resource. What cannot be told is none.
    async fn spares(
        &self,
        pipeline: &Pipeline,
        config: &Config,
        definition: &airside_config::Resource,
        payload: &[u8],
    ) -> Option<String> {
        let type_ = &definition.type_;
        if payload.is_empty() || config.resource_type(type_).is_some() {
            return None;
        }
        let source = payload::compared(definition.source.as_ref()?);
        let source = Value::Object(source);
        let filled = self
            .parts
            .engine
            .fill(pipeline, config, source)
            .await
            .ok()?;
        payload::spares(type_, filled.0.as_object()?, payload)
    }

    async fn pipeline(&self, id: PipelineId) -> Result<(Pipeline, Config), AskError> {
        let pipeline = self.parts.store.pipeline_by_id(id).await?;
        let pipeline = pipeline.ok_or(AskError::NotFound)?;
        let config = serde_json::from_value(pipeline.config.clone());
        // One that cannot be read has nothing to check.
        Ok((pipeline, config.map_err(|_| AskError::NotFound)?))
    }

    async fn resource(&self, pipeline: &Pipeline, name: &str) -> Result<ResourceId, AskError> {
        let resource = self.parts.store.resource(pipeline.id, name).await?;
        Ok(resource.ok_or(AskError::NotFound)?.id)
    }
}

fn plan(config: &Config, ask: &Ask<'_>) -> Result<Plan, AskError> {
    let options = CheckOptions {
        from: ask.from.clone(),
        skip_interval: true,
        skip_interval_of_types: ask.depth == Depth::Deep,
    };
    let id = PlanId::new("1");
    Ok(match ask.subject {
        Subject::Resource(name) => {
            let resource = config.resource(name).ok_or(AskError::NotFound)?;
            check_plan(id, resource, config, options)?
        }
        Subject::ResourceType(name) => {
            let type_ = config.resource_type(name).ok_or(AskError::NotFound)?;
            resource_type_check_plan(id, type_, config, options)?
        }
        Subject::Prototype(name) => {
            let prototype = config.prototype(name).ok_or(AskError::NotFound)?;
            prototype_check_plan(id, prototype, config, options)?
        }
    })
}
