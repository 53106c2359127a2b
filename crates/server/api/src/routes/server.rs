//! The server itself: its health, its loops, its log, and the message to all users.

use std::time::Duration;

use airside_model::{Bytes, WorkerState};
use airside_store::{Component, Micros, Worker};
use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiState, body,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
};

use super::workers::is_visible;

#[derive(Default, Deserialize)]
struct WallBody {
    #[serde(default)]
    message: String,
    /// Nanoseconds.
    #[serde(rename = "TTL", default)]
    ttl: i64,
}

pub(super) async fn wall(State(state): State<ApiState>) -> Result<Json<Value>> {
    let Some(wall) = state.store.wall().await? else {
        return Ok(Json(json!({})));
    };
    let mut shown = json!({"message": wall.message});
    if let Some(remaining) = wall.remaining() {
        shown["TTL"] = json!(i64::try_from(remaining.as_nanos()).unwrap_or(i64::MAX));
    }
    Ok(Json(shown))
}

pub(super) async fn set_wall(State(state): State<ApiState>, body: Body) -> Result<()> {
    let wall: WallBody = body::json(body, "the wall").await?;
    if wall.message.trim().is_empty() {
        return Err(ApiError::BadRequest(
            "Wall message cannot be empty".to_owned(),
        ));
    }
    let lifetime = u64::try_from(wall.ttl).ok().filter(|ttl| *ttl > 0);
    let lifetime = lifetime.map(Duration::from_nanos);
    Ok(state.store.set_wall(&wall.message, lifetime).await?)
}

pub(super) async fn clear_wall(State(state): State<ApiState>) -> Result<()> {
    Ok(state.store.clear_wall().await?)
}

pub(super) async fn components(State(state): State<ApiState>) -> Result<Json<Vec<Value>>> {
    let components = state.store.components().await?;
    Ok(Json(components.iter().map(component).collect()))
}

fn component(component: &Component) -> Value {
    json!({
        "name": component.name,
        "interval": i64::try_from(component.interval.as_nanos()).unwrap_or(i64::MAX),
        "last_ran": rfc3339(component.last_ran),
        "paused": component.paused,
    })
}

fn rfc3339(time: Micros) -> String {
    jiff::Timestamp::from_microsecond(time.0)
        .map_or_else(|_| String::new(), |time| time.to_string())
}

#[derive(Deserialize)]
pub(super) struct ComponentName {
    component_name: String,
}

async fn set_paused(state: &ApiState, name: &str, paused: bool) -> Result<()> {
    if state.store.set_component_paused(name, paused).await? {
        Ok(())
    } else {
        Err(ApiError::NotFound)
    }
}

pub(super) async fn pause_component(
    State(state): State<ApiState>,
    Path(ComponentName { component_name }): Path<ComponentName>,
) -> Result<()> {
    set_paused(&state, &component_name, true).await
}

pub(super) async fn unpause_component(
    State(state): State<ApiState>,
    Path(ComponentName { component_name }): Path<ComponentName>,
) -> Result<()> {
    set_paused(&state, &component_name, false).await
}

pub(super) async fn pause_components(State(state): State<ApiState>) -> Result<()> {
    Ok(state.store.set_all_components_paused(true).await?)
}

pub(super) async fn unpause_components(State(state): State<ApiState>) -> Result<()> {
    Ok(state.store.set_all_components_paused(false).await?)
}

pub(super) async fn log_level(State(state): State<ApiState>) -> String {
    state.log_level.get()
}

pub(super) async fn set_log_level(State(state): State<ApiState>, body: Body) -> Result<()> {
    let level = body::small_text(body, "the log level").await?;
    if state.log_level.set(level.trim()) {
        Ok(())
    } else {
        Err(ApiError::BadRequest(
            "the log level is one of debug, info, error and fatal".to_owned(),
        ))
    }
}

/// The installation's secret manager, if it has one: its settings, without what is secret, and its
/// health.
pub(super) async fn creds(State(state): State<ApiState>) -> Json<Value> {
    Json(Value::Object(state.credentials.managers().await))
}

/// Answers even when the database does not: that is what it is for.
pub(super) async fn health(State(state): State<ApiState>, scope: RequestScope) -> Response {
    let components = state.store.components().await;
    let workers = state.store.workers().await;
    let (Ok(components), Ok(workers)) = (components, workers) else {
        let why = "the database cannot be reached";
        let shown = json!({
            "status": "failing", "timestamp": rfc3339(airside_store::now()),
            "database": {"status": "failing", "error": why},
            "workers": {"status": "failing", "total": 0, "running": 0}, "components": [],
        });
        return (StatusCode::SERVICE_UNAVAILABLE, Json(shown)).into_response();
    };
    let (running, away) = running_and_away(&state, &workers);
    let running = running.len();
    let of_workers = if running == 0 || !away.is_empty() {
        "degraded"
    } else {
        "ok"
    };
    let room = room(&state);
    let status = match &room {
        Room::None(_) => "failing",
        Room::Little(_) => "degraded",
        Room::Enough => of_workers,
    };
    let components: Vec<Value> = components
        .iter()
        .map(|component| {
            json!({"name": component.name, "status": "ok", "paused": component.paused,
                "last_ran": rfc3339(component.last_ran)})
        })
        .collect();
    let mut shown = json!({
        "status": status, "timestamp": rfc3339(airside_store::now()),
        "database": {"status": "ok"},
        "workers": {"status": of_workers, "total": workers.len(), "running": running},
        "components": components,
    });
    let named = named(&state, &scope, &away).await;
    if !named.is_empty() {
        shown["workers"]["unhealthy_workers"] = json!(named);
    }
    match room {
        Room::Enough => Json(shown).into_response(),
        Room::Little(words) => {
            shown["disk"] = json!({"status": "degraded", "error": words});
            Json(shown).into_response()
        }
        Room::None(words) => {
            shown["database"] = json!({"status": "failing", "error": words});
            (StatusCode::INSUFFICIENT_STORAGE, Json(shown)).into_response()
        }
    }
}

/// Parts the workers that take steps from those that do not.
pub(crate) fn running_and_away<'a>(
    state: &ApiState,
    workers: &'a [Worker],
) -> (Vec<&'a Worker>, Vec<&'a Worker>) {
    let is_running = |worker: &&Worker| {
        let condition = state.workers.condition(&worker.name);
        present::worker::state(worker, &condition) == WorkerState::Running
    };
    workers.iter().partition(is_running)
}

/// True if there is room for what the server writes; the words are for people.
enum Room {
    Enough,
    Little(String),
    None(&'static str),
}

fn room(state: &ApiState) -> Room {
    if state.store.is_full() {
        return Room::None(
            "the disk of the database is full: nothing can be changed until there is room",
        );
    }
    let Ok(volumes) = state.volumes() else {
        return Room::Enough;
    };
    match volumes.disk() {
        Ok(disk) if disk.is_above(volumes.marks().high) => Room::Little(format!(
            "the server's disk is nearly full: {} of {} are free",
            Bytes(disk.free),
            Bytes(disk.total)
        )),
        _ => Room::Enough,
    }
}

/// Returns the names of those workers that the caller may see. Strangers learn their number and no
/// more.
async fn named<'a>(state: &ApiState, scope: &RequestScope, workers: &[&'a Worker]) -> Vec<&'a str> {
    let known = scope
        .principal()
        .is_some_and(|principal| principal.is_in_a_team() || principal.is_admin());
    let teams = if known && !workers.is_empty() {
        state.store.teams().await.unwrap_or_default()
    } else {
        return Vec::new();
    };
    let seen = workers
        .iter()
        .filter(|worker| is_visible(worker, &teams, scope));
    seen.map(|worker| worker.name.as_str()).collect()
}

#[derive(Deserialize)]
pub(super) struct Since {
    since: Option<String>,
}

/// Two months back unless asked otherwise.
pub(super) async fn active_users(
    State(state): State<ApiState>,
    Query(Since { since }): Query<Since>,
) -> Result<Json<Vec<Value>>> {
    let since = match since.filter(|since| !since.is_empty()) {
        None => Micros(airside_store::now().0 - 60 * 86_400 * 1_000_000),
        Some(text) => {
            let date: jiff::civil::Date = text.parse().map_err(|_| {
                ApiError::BadRequest("wrong date format (should be yyyy-mm-dd)".to_owned())
            })?;
            let start = date
                .to_zoned(jiff::tz::TimeZone::UTC)
                .map_err(|_| ApiError::BadRequest("there is no such date".to_owned()))?;
            Micros(start.timestamp().as_microsecond())
        }
    };
    let users = state.store.users_since(since).await?;
    let shown = users.iter().map(|user| {
        json!({"id": user.id, "username": user.username, "connector": user.connector,
            "last_login": user.last_login.seconds(), "sub": user.sub})
    });
    Ok(Json(shown.collect()))
}
