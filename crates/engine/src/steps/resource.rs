//! What get and put share: the request to a resource type, and reading its answer.

use airside_model::{
    MetadataField, StepKind, StepLabels, Version,
    event::{Event, FinishResource},
};
use airside_orchestrator::{Artifact, StepEnd, StepOutput, StepRequest, StepResult};
use airside_protocol::Executable;
use airside_runtime::Image;
use airside_store::{Build, now};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Result,
    interpret::{Leaf, Outcome, Status},
};

/// Where a step of this build stands, for people.
pub(crate) fn labels(build: &Build, step: &str, kind: StepKind) -> StepLabels {
    StepLabels {
        team: build.team_name.clone(),
        pipeline: build.pipeline_name.clone(),
        job: build.job_name.clone(),
        build: build.id,
        build_name: build.name.clone(),
        step: step.to_owned(),
        kind,
        attempt: 1,
    }
}

/// What a resource type answers to `in` and `out`.
#[derive(Debug, Deserialize)]
struct Answer {
    version: Version,
    #[serde(default)]
    metadata: Option<Vec<MetadataField>>,
}

impl Answer {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let answer: Self = serde_json::from_slice(bytes).map_err(|error| {
            let shown: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
            format!("the resource's answer is not what it should be ({error}): {shown}")
        })?;
        match answer.version.is_empty() {
            true => Err("the resource output a null version".to_owned()),
            false => Ok(answer),
        }
    }
}

/// Reads what a call came to and says so. A call that succeeded gives the outcome to commit; any
/// other end is committed here.
pub(crate) async fn outcome(
    leaf: Leaf<'_>,
    result: StepResult,
    event: fn(FinishResource) -> Event,
) -> Result<Result<Outcome, Status>> {
    let exit_status = match result.end {
        StepEnd::Errored(words) => return Ok(Err(leaf.error(words).await?)),
        StepEnd::Stopped => return Ok(Err(leaf.interrupted().await?)),
        StepEnd::Exited(code) => code,
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
        return Ok(Err(leaf.commit(Outcome::of(Status::Failed)).await?));
    }
    let answer = match Answer::read(&result.answer) {
        Ok(answer) => answer,
        Err(words) => return Ok(Err(leaf.error(words).await?)),
    };
    finish.version = answer.version.clone();
    finish.metadata = answer.metadata.unwrap_or_default();
    let outcome = Outcome {
        status: Status::Succeeded,
        version: Some(answer.version),
        metadata: finish.metadata.clone(),
        artifacts: result.outputs.into_iter().collect(),
    };
    leaf.say("finish", event(finish)).await?;
    Ok(Ok(outcome))
}

/// One call of a resource type's program.
pub(crate) struct Call<'a> {
    pub(crate) kind: StepKind,
    pub(crate) verb: &'a str,
    pub(crate) name: &'a str,
    pub(crate) type_: &'a str,
    pub(crate) tags: &'a [String],
    pub(crate) folder: &'a str,
    pub(crate) source: &'a Map<String, Value>,
    pub(crate) params: &'a Map<String, Value>,
    pub(crate) version: Option<&'a Version>,
    pub(crate) inputs: Vec<Artifact>,
    pub(crate) outputs: Vec<StepOutput>,
    pub(crate) start_event: Event,
}

impl Call<'_> {
    pub(crate) fn request(self, leaf: Leaf<'_>) -> Result<StepRequest, String> {
        if !airside_resources::is_native(self.type_) {
            return Err(format!(
                "resource type `{}` is not supported by this version of Airside",
                self.type_
            ));
        }
        let build = leaf.interpreter.build;
        let mut stdin = json!({"source": self.source});
        if !self.params.is_empty() {
            stdin["params"] = json!(self.params);
        }
        if let Some(version) = self.version {
            stdin["version"] = json!(version);
        }
        Ok(StepRequest {
            plan: leaf.plan.clone(),
            labels: labels(build, self.name, self.kind),
            tags: self.tags.to_vec(),
            image: Image::Shim,
            run: Executable::Shim,
            args: ["resource", self.type_, self.verb, self.folder]
                .map(str::to_owned)
                .to_vec(),
            env: metadata(build, &leaf.interpreter.engine.parts.external_url),
            dir: "/".to_owned(),
            user: None,
            tty: None,
            stdin: Some(stdin.to_string()),
            inputs: self.inputs,
            outputs: self.outputs,
            folders: Vec::new(),
            limits: Default::default(),
            privileged: false,
            hermetic: false,
            answers: true,
            start_event: self.start_event,
        })
    }
}

/// What a resource's program may know of the build it serves.
fn metadata(build: &Build, external_url: &str) -> Vec<(String, String)> {
    let number = |id: Option<i64>| id.map(|id| id.to_string());
    let url = match (&build.pipeline_name, &build.job_name) {
        (Some(pipeline), Some(job)) => Some(format!(
            "{external_url}/teams/{}/pipelines/{pipeline}/jobs/{job}/builds/{}",
            build.team_name, build.name
        )),
        _ => None,
    };
    let known = [
        ("BUILD_ID", Some(build.id.to_string())),
        ("BUILD_NAME", Some(build.name.clone())),
        ("BUILD_TEAM_ID", Some(build.team.to_string())),
        ("BUILD_TEAM_NAME", Some(build.team_name.clone())),
        ("BUILD_JOB_ID", number(build.job.map(|id| id.0))),
        ("BUILD_JOB_NAME", build.job_name.clone()),
        ("BUILD_PIPELINE_ID", number(build.pipeline.map(|id| id.0))),
        ("BUILD_PIPELINE_NAME", build.pipeline_name.clone()),
        ("ATC_EXTERNAL_URL", Some(external_url.to_owned())),
        ("BUILD_URL", url),
        (
            "BUILD_URL_SHORT",
            Some(format!("{external_url}/builds/{}", build.id)),
        ),
    ];
    known
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value.filter(|text| !text.is_empty())?)))
        .collect()
}
