//! Tokens of agents: they are made, listed and revoked. A token is shown once, to the user who had
//! it made.

use airside_hub::Hub;
use airside_model::{WorkerName, chain};
use airside_protocol::{AgentToken, is_agent_name};
use airside_store::WorkerKind;
use axum::{
    Json,
    body::Body,
    extract::{Path, State},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    ApiState, body,
    error::{ApiError, Result},
};

#[derive(Deserialize)]
pub(super) struct Named {
    agent_name: String,
}

const FOR: &str = "what the token is for";

/// The rights that a token is to give.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentBody {
    #[serde(default)]
    team: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

pub(super) async fn list(State(state): State<ApiState>) -> Result<Json<Vec<Value>>> {
    let passes = state.store.agent_passes().await?;
    let shown = passes.into_iter().map(|pass| {
        json!({
            "name": pass.name,
            "team": pass.team,
            "tags": pass.tags,
            "created_at": pass.created_at.seconds(),
        })
    });
    Ok(Json(shown.collect()))
}

/// Makes the name's token, a new one if it had one already. An agent that is connected with the old
/// one is cut off.
pub(super) async fn create(
    State(state): State<ApiState>,
    Path(Named { agent_name: name }): Path<Named>,
    body: Body,
) -> Result<(StatusCode, Json<Value>)> {
    // By way of an object: a list would do for a struct whose fields may all be missing.
    let wanted: Map<String, Value> = body::json(body, FOR).await?;
    let AgentBody { team, tags } =
        serde_json::from_value(Value::Object(wanted)).map_err(|error| {
            ApiError::BadRequest(format!("{FOR} cannot be read: {}", chain(&error)))
        })?;
    check(&state, &name, team.as_deref(), &tags).await?;
    let hub = state.hub()?;
    let token = AgentToken {
        name: name.clone(),
        pin: hub.pin().to_owned(),
        secret: hex::encode(rand::random::<[u8; 32]>()),
    };
    let hash = Hub::token_hash(&token.secret);
    state
        .store
        .save_agent_token(&name, team.as_deref(), &tags, &hash)
        .await?;
    state.workers.cut_agent(&WorkerName(name));
    let made = json!({"token": token.to_string(), "hub": hub.address().to_string()});
    Ok((StatusCode::CREATED, Json(made)))
}

async fn check(state: &ApiState, name: &str, team: Option<&str>, tags: &[String]) -> Result<()> {
    if !is_agent_name(name) {
        return Err(ApiError::BadRequest(format!(
            "an agent cannot be called {name:?}: a name has letters, digits, `-`, `_` and `.`, at most 63, and begins \
             with a letter or digit"
        )));
    }
    if tags.iter().any(|tag| tag.trim().is_empty()) {
        return Err(ApiError::BadRequest("a tag may not be empty".to_owned()));
    }
    if let Some(team) = team
        && state.store.team(team).await?.is_none()
    {
        return Err(ApiError::BadRequest(format!("there is no team '{team}'")));
    }
    let workers = state.store.workers().await?;
    let taken = workers
        .iter()
        .any(|worker| worker.name.as_str() == name && worker.kind != WorkerKind::Agent);
    if taken {
        Err(ApiError::Conflict(format!(
            "there is a worker '{name}' already that is not an agent"
        )))
    } else {
        Ok(())
    }
}

/// Revokes the name's token, and cuts off the agent that is connected with it.
pub(super) async fn revoke(
    State(state): State<ApiState>,
    Path(Named { agent_name: name }): Path<Named>,
) -> Result<StatusCode> {
    if !state.store.revoke_agent_token(&name).await? {
        return Err(ApiError::NotFound);
    }
    state.workers.cut_agent(&WorkerName(name));
    Ok(StatusCode::NO_CONTENT)
}
