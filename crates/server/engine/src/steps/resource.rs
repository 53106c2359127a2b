//! The call of a resource type's program and its answer, which get, put and check share.

use std::time::Duration;

use airside_checks::read_answer;
use airside_config::missing_base_type;
use airside_model::{
    MetadataField, StepKind, Version, bounded_metadata, bounded_versions,
    event::{Event, FinishResource, Source},
    plan::TypeImage,
};
use airside_orchestrator::{Artifact, StepEnd, StepOutput, StepRequest};
use airside_protocol::Executable;
use airside_runtime::Image;
use airside_store::now;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::metadata;
use crate::{
    Result, StepError, image,
    image::{ImageNeed, StepImage},
    leaf::{Leaf, Ran},
    outcome::Outcome,
    status::Status,
};

/// The answer of a resource type to `in` and `out`.
#[derive(Debug, Deserialize)]
struct ResourceAnswer {
    version: Option<Version>,
    #[serde(default)]
    metadata: Option<Vec<MetadataField>>,
}

impl ResourceAnswer {
    fn read(bytes: &[u8]) -> Result<(Version, Vec<MetadataField>), String> {
        let answer: Self = read_answer(bytes)?;
        match answer.version {
            Some(version) if !version.is_empty() => {
                bounded_versions(std::slice::from_ref(&version))?;
                Ok((version, answer.metadata.unwrap_or_default()))
            }
            _ => Err("the resource output a null version".to_owned()),
        }
    }
}

/// Reads the end of a get or put, and writes its event. Returns the outcome to commit: a program
/// that exited with another status than 0 has failed.
pub(crate) async fn outcome(
    leaf: Leaf<'_>,
    ran: &Ran,
    event: fn(FinishResource) -> Event,
) -> Result<Outcome, StepError> {
    let exit_status = match &ran.end {
        StepEnd::Errored(words) => return Err(words.clone().into()),
        StepEnd::Stopped(cause) => return Err(StepError::Stopped(*cause)),
        StepEnd::Exited(code) => *code,
    };
    let mut finish = FinishResource {
        origin: leaf.origin(),
        time: now().seconds(),
        exit_status,
        version: Version::default(),
        metadata: Vec::new(),
    };
    if exit_status != 0 {
        leaf.say("finish", event(finish)).await?;
        return Ok(Outcome::of(Status::Failed));
    }
    let (version, mut metadata) = ResourceAnswer::read(&ran.answer)?;
    // What a put did is done: it does not fail for what it says about it.
    if let Some(words) = bounded_metadata(&mut metadata) {
        let line = format!("{words}\n");
        leaf.print("metadata", Source::Stderr, &line).await?;
    }
    finish.version = version.clone();
    finish.metadata = metadata.clone();
    leaf.say("finish", event(finish)).await?;
    Ok(Outcome {
        version: Some(version),
        metadata,
        artifacts: ran.outputs.iter().cloned().collect(),
        ..Outcome::of(Status::Succeeded)
    })
}

/// A timeout as steps have it, or the words about one that is none.
pub(crate) fn timeout(text: &str) -> Result<Option<Duration>, String> {
    match airside_model::read_duration(text) {
        _ if text.is_empty() => Ok(None),
        Ok(timeout) => Ok(Some(timeout)),
        Err(why) => Err(format!("parse timeout: `{text}` {why}")),
    }
}

/// The variables of a source or of params, filled in.
pub(crate) async fn filled(
    leaf: Leaf<'_>,
    map: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    match leaf.fill(Value::Object(map.clone())).await? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

/// Returns the folder in which a resource type finds or leaves files. It is there even if it is
/// empty.
fn folder(kind: StepKind) -> Option<&'static str> {
    match kind {
        StepKind::Check => None,
        StepKind::Put => Some("/tmp/build/put"),
        _ => Some("/tmp/build/get"),
    }
}

/// One call of a resource type's program.
pub(crate) struct Call<'a> {
    pub(crate) kind: StepKind,
    pub(crate) name: &'a str,
    pub(crate) type_: &'a str,
    pub(crate) image: &'a TypeImage,
    pub(crate) tags: &'a [String],
    pub(crate) source: Map<String, Value>,
    pub(crate) params: Map<String, Value>,
    pub(crate) version: Option<Version>,
    pub(crate) inputs: Vec<Artifact>,
    pub(crate) outputs: Vec<StepOutput>,
    pub(crate) start_event: Event,
    pub(crate) created_by: Option<&'a str>,
}

impl Call<'_> {
    /// The whole request, its image fetched if it is one of the pipeline's own types.
    pub(crate) async fn request(self, leaf: Leaf<'_>) -> Result<StepRequest, StepError> {
        let program = self.program(leaf).await?;
        Ok(self.request_with(leaf, program))
    }

    /// Returns the request for a known program and image.
    pub(crate) fn request_with(
        self,
        leaf: Leaf<'_>,
        (image, run, args): (StepImage, Executable, Vec<String>),
    ) -> StepRequest {
        let Leaf { interpreter, .. } = leaf;
        let mut stdin = json!({"source": self.source});
        if !self.params.is_empty() {
            stdin["params"] = json!(self.params);
        }
        if let Some(version) = self.version {
            stdin["version"] = json!(version);
        }
        let url = &interpreter.engine.parts.external_url;
        let status = leaf.context.status;
        let mut env = image.metadata.env();
        env.extend(metadata::of_resource(
            interpreter.build,
            url,
            status,
            self.created_by,
        ));
        StepRequest {
            plan: leaf.plan.clone(),
            labels: leaf.labels(self.name, self.kind),
            tags: self.tags.to_vec(),
            native_type: (run == Executable::Shim).then(|| self.type_.to_owned()),
            image: image.image,
            run,
            args,
            env,
            dir: "/".to_owned(),
            user: image.metadata.user.filter(|user| !user.is_empty()),
            tty: None,
            stdin: Some(stdin.to_string()),
            inputs: self.inputs,
            outputs: self.outputs,
            folders: folder(self.kind).map(str::to_owned).into_iter().collect(),
            limits: Default::default(),
            privileged: self.image.privileged,
            hermetic: false,
            answers: true,
            start_event: self.start_event,
            image_get: image.get,
        }
    }

    /// Returns the image and the program. A type that the pipeline does not bring must be native.
    pub(crate) async fn program(
        &self,
        leaf: Leaf<'_>,
    ) -> Result<(StepImage, Executable, Vec<String>), StepError> {
        let verb = match self.kind {
            StepKind::Check => "check",
            StepKind::Put => "out",
            _ => "in",
        };
        let folder = folder(self.kind).map(str::to_owned);
        if let Some(get) = &self.image.get_plan {
            let check = self.image.check_plan.as_deref();
            let image = image::fetch(leaf, (check, get), ImageNeed::Files, self.tags).await?;
            let run = Executable::Path(format!("/opt/resource/{verb}"));
            return Ok((image, run, folder.into_iter().collect()));
        }
        if !airside_resource_types::is_native(self.type_) {
            return Err(missing_base_type(self.type_).into());
        }
        // Checks are not looked into, and need nothing but the program.
        let own = leaf.interpreter.engine.parts.mock_image.as_ref();
        let own = own.filter(|_| airside_resource_types::has_an_image(self.type_));
        let image = match own {
            Some(own) if self.kind != StepKind::Check => own.clone(),
            // The machine's own programs, without its data.
            _ if airside_resource_types::needs_programs(self.type_, &self.source) => Image::Host,
            _ => Image::Shim,
        };
        let args = ["resource", self.type_, verb].map(str::to_owned);
        let args = args.into_iter().chain(folder).collect();
        Ok((image.into(), Executable::Shim, args))
    }
}
