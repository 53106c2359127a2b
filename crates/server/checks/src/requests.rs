//! Checks that people and webhooks request by name: builds from the start.

use airside_config::{
    CheckOptions, Config, PlanError, check_plan, prototype_check_plan, resource_type_check_plan,
};
use airside_model::{PipelineId, Plan, PlanId, ResourceId, Version, chain};
use airside_store::{Build, CheckReason, NewCheck, Pipeline};
use async_trait::async_trait;
use serde_json::Value;

use crate::{CheckService, payload, webhook_tokens::Key};

/// The port through which people and webhooks request checks.
#[async_trait]
pub trait CheckRequests: Send + Sync {
    /// Creates a build that checks, and starts it.
    async fn request(&self, request: CheckRequest<'_>) -> Result<Build, CheckRequestError>;

    /// Creates a build that checks a resource for a caller who knows its token. The payload is not
    /// trusted: it can only say that a push to another branch is not a reason to check.
    async fn webhook(
        &self,
        pipeline: PipelineId,
        resource: &str,
        token: &str,
        payload: &[u8],
    ) -> Result<WebhookOutcome, CheckRequestError>;
}

/// The thing to check, by its name in the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckSubject<'a> {
    Resource(&'a str),
    ResourceType(&'a str),
    Prototype(&'a str),
}

/// True if the types that a subject is made with are checked too, before their interval is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    Shallow,
    Deep,
}

/// A check that a person or a webhook requests.
pub struct CheckRequest<'a> {
    pub pipeline: PipelineId,
    pub subject: CheckSubject<'a>,
    pub from: Option<Version>,
    pub depth: CheckDepth,
    /// The person who requests it; none for webhooks.
    pub by: Option<&'a str>,
}

/// The result of a webhook whose token is right.
pub enum WebhookOutcome {
    Checking(Box<Build>),
    /// The payload does not concern the resource; says why.
    Spared(String),
}

#[derive(Debug, thiserror::Error)]
pub enum CheckRequestError {
    /// The pipeline or subject does not exist.
    #[error("there is nothing of that name to check")]
    NotFound,
    #[error("the token is not the resource's")]
    WrongToken,
    #[error("the webhook token cannot be looked up: {0}")]
    NoToken(String),
    #[error("{0}")]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Store(#[from] airside_store::Error),
}

#[async_trait]
impl CheckRequests for CheckService {
    async fn request(&self, request: CheckRequest<'_>) -> Result<Build, CheckRequestError> {
        let (pipeline, config) = self.pipeline(request.pipeline).await?;
        let plan = plan(&config, &request)?;
        let resource = match request.subject {
            CheckSubject::Resource(name) => Some(self.resource(&pipeline, name).await?),
            _ => None,
        };
        let check = NewCheck {
            team: pipeline.team,
            pipeline: pipeline.id,
            resource,
            plan: &plan,
            reason: CheckReason::Asked { by: request.by },
        };
        let (build, _) = self.parts.builds.start_check(check).await?;
        Ok(build)
    }

    async fn webhook(
        &self,
        pipeline: PipelineId,
        resource: &str,
        token: &str,
        payload: &[u8],
    ) -> Result<WebhookOutcome, CheckRequestError> {
        let (found, config) = self.pipeline(pipeline).await?;
        let definition = config.resource(resource);
        let definition = definition.ok_or(CheckRequestError::NotFound)?;
        let key = Key {
            pipeline,
            resource: resource.to_owned(),
            template: definition.webhook_token.clone(),
        };
        let look = async || self.webhook_token(&found, &config, &key.template).await;
        if !self.parts.tokens.is_right(&key, token, look).await? {
            return Err(CheckRequestError::WrongToken);
        }
        if let Some(why) = self.spares(&found, &config, definition, payload).await {
            return Ok(WebhookOutcome::Spared(why));
        }
        let request = CheckRequest {
            pipeline,
            subject: CheckSubject::Resource(resource),
            from: None,
            depth: CheckDepth::Shallow,
            by: None,
        };
        let build = self.request(request).await?;
        Ok(WebhookOutcome::Checking(Box::new(build)))
    }
}

impl CheckService {
    /// Looks up the value of a resource's own token.
    async fn webhook_token(
        &self,
        pipeline: &Pipeline,
        config: &Config,
        template: &str,
    ) -> Result<String, CheckRequestError> {
        let template = Value::String(template.to_owned());
        match self.parts.fill(pipeline, config, template).await {
            Ok((Value::String(own), _)) => Ok(own),
            Ok((other, _)) => Ok(other.to_string()),
            Err(error) => Err(CheckRequestError::NoToken(chain(&error))),
        }
    }

    /// Returns why the payload is not a reason to check the resource. A payload that is not
    /// understood spares nothing.
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
        let source = Value::Object(payload::compared(definition.source.as_ref()?));
        let filled = self.parts.fill(pipeline, config, source).await.ok()?;
        payload::spares(type_, filled.0.as_object()?, payload)
    }

    async fn pipeline(&self, id: PipelineId) -> Result<(Pipeline, Config), CheckRequestError> {
        let pipeline = self.parts.store.pipeline_by_id(id).await?;
        let pipeline = pipeline.ok_or(CheckRequestError::NotFound)?;
        let config = serde_json::from_value(pipeline.config.clone());
        // A configuration that cannot be read has nothing to check.
        Ok((pipeline, config.map_err(|_| CheckRequestError::NotFound)?))
    }

    async fn resource(
        &self,
        pipeline: &Pipeline,
        name: &str,
    ) -> Result<ResourceId, CheckRequestError> {
        let resource = self.parts.store.resource(pipeline.id, name).await?;
        Ok(resource.ok_or(CheckRequestError::NotFound)?.id)
    }
}

fn plan(config: &Config, request: &CheckRequest<'_>) -> Result<Plan, CheckRequestError> {
    let options = CheckOptions {
        from: request.from.clone(),
        skip_interval: true,
        skip_interval_of_types: request.depth == CheckDepth::Deep,
    };
    let (id, missing) = (PlanId::new("1"), CheckRequestError::NotFound);
    Ok(match request.subject {
        CheckSubject::Resource(name) => {
            let resource = config.resource(name).ok_or(missing)?;
            check_plan(id, resource, config, options)?
        }
        CheckSubject::ResourceType(name) => {
            let type_ = config.resource_type(name).ok_or(missing)?;
            resource_type_check_plan(id, type_, config, options)?
        }
        CheckSubject::Prototype(name) => {
            let prototype = config.prototype(name).ok_or(missing)?;
            prototype_check_plan(id, prototype, config, options)?
        }
    })
}
