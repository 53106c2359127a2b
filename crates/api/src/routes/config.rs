//! Setting a pipeline, and reading back what was set.

use airside_config::{Config, Loaded, Warning, api_errors, load, validate_identifier};
use airside_model::TeamId;
use airside_store::SavePipeline;
use axum::{
    Json,
    body::{Body, to_bytes},
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiState,
    error::{ApiError, Result},
    scope::Scope,
};

const CONFIG_VERSION: &str = "x-concourse-config-version";
const LARGEST_MIB: usize = 10;

#[derive(Deserialize)]
pub(super) struct Named {
    pipeline_name: String,
}

pub(super) async fn get(scope: Scope) -> Result<Response> {
    let pipeline = scope.pipeline()?;
    if pipeline.archived {
        return Err(ApiError::NotFound);
    }
    let version = HeaderValue::from(pipeline.config_version);
    Ok((
        [(CONFIG_VERSION, version)],
        Json(json!({"config": pipeline.config})),
    )
        .into_response())
}

pub(super) async fn save(
    State(state): State<ApiState>,
    scope: Scope,
    Path(Named { pipeline_name }): Path<Named>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let team = scope.team()?.id;
    let expected_version = Some(config_version(&headers)?);
    check_content_type(&headers)?;
    let odd_name = match check_name(&pipeline_name) {
        Ok(warning) => warning,
        Err(error) => return Ok(invalid(&[error])),
    };
    let loaded = match read_config(read(body).await?).await? {
        Ok(loaded) => loaded,
        Err(errors) => return Ok(invalid(&errors)),
    };
    let save = to_save(team, pipeline_name, &loaded.config, expected_version)?;
    let saved = state.store.save_pipeline(save).await?;
    let status = if saved.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let warnings: Vec<Warning> = odd_name.into_iter().chain(loaded.warnings).collect();
    let shown = if warnings.is_empty() {
        json!({})
    } else {
        json!({"warnings": warnings})
    };
    Ok((status, Json(shown)).into_response())
}

/// Reads a configuration, or says in `fly`'s words what is wrong with it. A long one takes a while,
/// and other requests would wait on this thread.
async fn read_config(text: String) -> Result<std::result::Result<Loaded, Vec<String>>> {
    let read = move || load(&text).map_err(|problems| api_errors(&problems));
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|_| ApiError::Internal("reading the configuration failed"))
}

fn to_save(
    team: TeamId,
    name: String,
    config: &Config,
    expected_version: Option<i64>,
) -> Result<SavePipeline> {
    let resources = config.resources.iter();
    Ok(SavePipeline {
        team,
        name,
        config: serde_json::to_value(config)
            .map_err(|_| ApiError::Internal("the configuration is not JSON"))?,
        jobs: config.jobs.iter().map(|job| job.name.clone()).collect(),
        resources: resources
            .map(|each| (each.name.clone(), each.type_.clone()))
            .collect(),
        expected_version,
    })
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

fn check_name(name: &str) -> Result<Option<Warning>, String> {
    if name.contains(['/', '\0']) {
        return Err(format!(
            "pipeline: '{}' has a character that is not allowed",
            name.escape_debug()
        ));
    }
    validate_identifier(name, "pipeline").map_err(|error| error.to_string())
}

async fn read(body: Body) -> Result<String> {
    let bytes = to_bytes(body, LARGEST_MIB << 20).await.map_err(|_| {
        ApiError::TooLarge(format!(
            "the configuration did not arrive whole or is larger than {LARGEST_MIB} MiB"
        ))
    })?;
    String::from_utf8(bytes.into())
        .map_err(|_| ApiError::BadRequest("the configuration is not UTF-8 text".to_owned()))
}
