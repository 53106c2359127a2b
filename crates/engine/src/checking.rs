//! Checks on the spot, for a build that waits for them.
//!
//! Native types are checked in this process; types of the pipeline's own in their image, as a step before
//! the build's first. Nothing is checked by itself from here.

use airside_config::{Config, Resource};
use airside_model::{BuildId, PlanId, ResourceId, Version};
use airside_resources::{CheckRequest, Privilege};
use airside_store::{Build, CheckFrom};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    Engine, LEASE, Result, interpret::Interpreter, scope::Context, status::Status, stop::Stop,
    variables::PipelineVariables,
};

impl Engine {
    /// Checks a resource for a build and saves what it finds. A check that fails says so in the log and
    /// has ended like any other.
    pub async fn check_for(&self, build: BuildId, resource: ResourceId) -> Result<()> {
        let store = &self.parts.store;
        let Some(build) = store.build(build).await? else {
            return Ok(());
        };
        let row = store.resource_by_id(resource).await?;
        let from = store.check_from(resource).await?;
        let (Some(row), Some(from), Some(pipeline)) = (row, from, build.pipeline) else {
            return Ok(());
        };
        let Some(pipeline) = store.pipeline_by_id(pipeline).await? else {
            return Ok(());
        };
        let Ok(config) = serde_json::from_value::<Config>(pipeline.config) else {
            return Ok(());
        };
        let Some(resource_config) = config.resource(&row.name) else {
            return Ok(());
        };
        let found = self.check(&build, &config, resource_config, &from).await?;
        match found {
            Ok(versions) => {
                let found: Vec<_> = versions.into_iter().map(|one| (one, Vec::new())).collect();
                store.save_versions(resource, &from, &found).await?;
                info!(build = %build.id, resource = row.name, "resource checked");
            }
            Err(words) => {
                warn!(build = %build.id, resource = row.name, words, "a check failed");
            }
        }
        Ok(())
    }

    async fn check(
        &self,
        build: &Build,
        config: &Config,
        resource: &Resource,
        from: &CheckFrom,
    ) -> Result<Result<Vec<Version>, String>> {
        let variables = self.variables(build).await?;
        let version = from.version.clone();
        match config.resource_type(&resource.type_) {
            None => Ok(check_natively(&variables, resource, version).await),
            Some(_) => {
                self.check_as_step(build, variables, config, resource, version)
                    .await
            }
        }
    }

    /// A check in an image of the pipeline's own, as a step of the build.
    async fn check_as_step(
        &self,
        build: &Build,
        variables: PipelineVariables,
        config: &Config,
        resource: &Resource,
        known: Option<Version>,
    ) -> Result<Result<Vec<Version>, String>> {
        let id = PlanId::new(format!("check/{}", resource.name));
        let plan = match airside_config::check_plan(id, resource, config, known) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let parts = &self.parts;
        let lease = parts
            .store
            .take_build(build.id, &parts.holder, &parts.address, LEASE)
            .await?;
        let Some(lease) = lease else {
            return Ok(Err("the build has ended".to_owned()));
        };
        let log = parts.logs.writer(build.id, lease.epoch).await?;
        let interpreter = Interpreter {
            engine: self,
            build,
            lease: &lease,
            log: &log,
            variables,
            secrets: Default::default(),
            ended: Default::default(),
        };
        let context = Context::of_build(Stop::of_build(CancellationToken::new()));
        Ok(match interpreter.run(&plan, context).await? {
            Status::Succeeded => Ok(interpreter.version(&plan.id).into_iter().collect()),
            Status::Failed => Err("its check failed".to_owned()),
            _ => {
                let errors = interpreter.errors(&plan).join("; ");
                Err(format!("its check ended in error: {errors}"))
            }
        })
    }
}

/// A check in this process.
async fn check_natively(
    variables: &PipelineVariables,
    resource: &Resource,
    known: Option<Version>,
) -> Result<Vec<Version>, String> {
    let source = Value::Object(resource.source.clone().unwrap_or_default());
    let filled = variables.fill(source, None).await;
    let source = match filled.map_err(|error| error.to_string())?.0 {
        Value::Object(source) => source,
        _ => Map::new(),
    };
    let request = CheckRequest {
        source,
        version: known,
    };
    let type_ = resource.type_.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let mut log = Vec::new();
        airside_resources::check(&type_, request, Privilege::Unprivileged, &mut log)
    });
    match checked.await {
        Ok(Ok(versions)) => Ok(versions),
        Ok(Err(failure)) => Err(format!("its check failed: {failure}")),
        Err(_) => Err("its check crashed".to_owned()),
    }
}
