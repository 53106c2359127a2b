//! Setting a pipeline, and reading back what was set.

use airside_config::{Loaded, Warning};
use airside_model::facts::SetThrough;
use airside_secrets::Asker;
use airside_setting::{ReadPipelineError, SetPipeline, check_name, read_pipeline};
use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::PipelineName;
use crate::{
    ApiState, body, check_creds,
    error::{ApiError, Result},
    scope::RequestScope,
};

const CONFIG_VERSION: &str = "x-concourse-config-version";
const LARGEST_MIB: usize = 10;

pub(super) async fn get(State(state): State<ApiState>, scope: RequestScope) -> Result<Response> {
    let pipeline = scope.pipeline()?;
    if pipeline.archived {
        return Err(ApiError::NotFound);
    }
    let found = state.store.pipeline_config(pipeline.id).await?;
    let (config, version) = found.ok_or(ApiError::NotFound)?;
    let headers = [
        (CONFIG_VERSION, HeaderValue::from(version)),
        ("content-type", HeaderValue::from_static("application/json")),
    ];
    // As it is stored: it can be long, and the server need not understand it.
    Ok((headers, format!("{{\"config\":{config}}}")).into_response())
}

#[derive(serde::Deserialize)]
pub(super) struct Wishes {
    /// Parameter that counts with any value, or none.
    check_creds: Option<String>,
}

pub(super) async fn save(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(PipelineName { pipeline_name }): Path<PipelineName>,
    Query(wishes): Query<Wishes>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let team = scope.team()?.id;
    let expected_version = Some(config_version(&headers)?);
    check_content_type(&headers)?;
    let odd_name = match check_name(&pipeline_name, "pipeline") {
        Ok(warning) => warning,
        Err(error) => return Ok(invalid(&[error])),
    };
    let text = body::text(body, "the configuration", LARGEST_MIB << 20).await?;
    let loaded = match read_config(text).await? {
        ConfigText::Pipeline(loaded) => *loaded,
        ConfigText::Mistakes(errors) => return Ok(invalid(&errors)),
    };
    if wishes.check_creds.is_some() {
        let asker = Asker {
            team: scope.team()?.name.clone(),
            pipeline: Some(pipeline_name.clone()),
            instance_vars: airside_vars::InstanceVars(scope.instance_vars().as_map().clone()),
            job: None,
        };
        let variables = state.credentials.of(asker, &loaded.config.var_sources);
        if let Some(refusal) = check_creds::refusal(&loaded.config, &variables).await {
            return Ok(invalid(&[refusal]));
        }
    }
    let caller = scope.caller()?;
    let by = format!("{}:{}", caller.connector(), caller.display_user_id());
    let set = SetPipeline {
        team,
        team_name: &scope.team()?.name,
        name: &pipeline_name,
        instance_vars: scope.instance_vars(),
        config: &loaded.config,
        through: SetThrough::Fly,
        by: &by,
        expected_version,
        parent: None,
        object: None,
    };
    let saved = state.pipelines.set(set).await?;
    let status = if saved.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let warnings: Vec<Warning> = loaded.warnings.into_iter().chain(odd_name).collect();
    let shown = if warnings.is_empty() {
        json!({})
    } else {
        json!({"warnings": warnings})
    };
    Ok((status, Json(shown)).into_response())
}

/// A body that should be a pipeline.
enum ConfigText {
    Pipeline(Box<Loaded>),
    /// The mistakes in the configuration, in `fly`'s words.
    Mistakes(Vec<String>),
}

/// Reads a configuration, or says in `fly`'s words what is wrong with it.
async fn read_config(text: String) -> Result<ConfigText> {
    match read_pipeline(text, Vec::new()).await {
        Ok(loaded) => Ok(ConfigText::Pipeline(Box::new(loaded))),
        Err(ReadPipelineError::Invalid(errors)) => Ok(ConfigText::Mistakes(errors)),
        Err(ReadPipelineError::Unfilled(error)) => Ok(ConfigText::Mistakes(vec![error])),
        Err(ReadPipelineError::Interrupted(_)) => {
            Err(ApiError::Internal("reading the configuration failed"))
        }
    }
}

fn invalid(errors: &[String]) -> Response {
    let shown: Value = json!({"errors": errors});
    (StatusCode::BAD_REQUEST, Json(shown)).into_response()
}

/// The version that the change was made from; none is that of a pipeline that is not there.
fn config_version(headers: &HeaderMap) -> Result<i64> {
    let Some(version) = headers
        .get(CONFIG_VERSION)
        .filter(|version| !version.is_empty())
    else {
        return Ok(0);
    };
    let number = version
        .to_str()
        .ok()
        .and_then(|version| version.trim().parse().ok());
    number.ok_or_else(|| {
        let text = String::from_utf8_lossy(version.as_bytes());
        ApiError::BadRequest(format!(
            "config version is malformed: `{text}` is not a number"
        ))
    })
}

fn check_content_type(headers: &HeaderMap) -> Result<()> {
    let given = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = given
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        "application/x-yaml" | "application/yaml" | "application/json" => Ok(()),
        _ => Err(ApiError::UnsupportedMediaType(format!(
            "a pipeline is sent as `application/x-yaml` or `application/json`, not as `{kind}`"
        ))),
    }
}
