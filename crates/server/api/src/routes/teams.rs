//! Teams, and the user's place in them.

use airside_auth::Role;
use airside_config::Warning;
use airside_setting::check_name;
use airside_store::Team;
use axum::{
    Json,
    body::Body,
    extract::{Path, State},
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

pub(super) async fn user(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Value>> {
    let teams = state.store.teams().await?;
    Ok(Json(present::user::user(scope.caller()?, &teams)))
}

pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let teams = state.store.teams().await?;
    let mut visible: Vec<&Team> = teams.iter().filter(|team| scope.can_view(team)).collect();
    visible.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(visible.into_iter().map(present::team::team).collect()))
}

pub(super) async fn get(scope: RequestScope) -> Result<Json<Value>> {
    Ok(Json(present::team::team(scope.team()?)))
}

#[derive(Deserialize)]
struct TeamBody {
    #[serde(default)]
    auth: Value,
}

#[derive(Deserialize)]
pub(super) struct Named {
    team_name: String,
}

/// Makes a team (which the guard leaves to admins) or changes who belongs to it.
pub(super) async fn set(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(Named { team_name }): Path<Named>,
    body: Body,
) -> Result<Response> {
    let wanted: TeamBody = body::json(body, "the team").await?;
    check_auth(&wanted.auth).map_err(ApiError::BadRequest)?;
    let warning = match scope.existing_team() {
        Some(_) => None,
        None => check_name(&team_name, "team").map_err(ApiError::Invalid)?,
    };
    let (team, made) = state.store.save_team(&team_name, &wanted.auth).await?;
    let status = if made {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut shown = json!({"team": present::team::team(&team)});
    if let Some(warning) = warning {
        shown["warnings"] = json!([warning]);
    }
    Ok((status, Json(shown)).into_response())
}

/// Checks the roles of a team: each must be one there is, and have a member. A role without members
/// would be every user's in Concourse.
fn check_auth(auth: &Value) -> Result<(), String> {
    let roles = auth
        .as_object()
        .filter(|roles| !roles.is_empty())
        .ok_or("a team's auth must give at least one role to a user or group")?;
    for (role, members) in roles {
        if Role::parse(role).is_none() {
            return Err(format!("there is no role `{}`", role.escape_debug()));
        }
        let named = |key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(0),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => Ok(names.len()),
            Some(_) => Err(format!(
                "the {key} of role `{role}` are not a list of names"
            )),
        };
        if named("users")? + named("groups")? == 0 {
            return Err(format!("role `{role}` names neither users nor groups"));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
pub(super) struct Rename {
    pub(super) name: String,
}

/// Returns fly's response after a name was given: empty, or a warning that the name is odd.
pub(super) fn renamed(warning: Option<Warning>) -> Json<Value> {
    Json(match warning {
        Some(warning) => json!({"warnings": [warning]}),
        None => json!({}),
    })
}

pub(super) async fn rename(
    State(state): State<ApiState>,
    scope: RequestScope,
    body: Body,
) -> Result<Json<Value>> {
    let team = scope.team()?;
    let Rename { name } = body::json(body, "the new name").await?;
    let warning = check_name(&name, "team").map_err(ApiError::Invalid)?;
    if team.admin && name != team.name {
        let why = format!(
            "team `{}` administers this installation and keeps its name",
            team.name
        );
        return Err(ApiError::Invalid(why));
    }
    if name != team.name
        && let Some(mentions) = mentioning(&state, &name).await?
    {
        let why = format!(
            "team `{}` cannot be called `{name}`: {mentions} names a team of that name, and would be this team's from \
             then on",
            team.name
        );
        return Err(ApiError::Conflict(why));
    }
    state.store.rename_team(team.id, &name).await?;
    Ok(renamed(warning))
}

/// Something configured that mentions a team of this name, whether there is one or not.
async fn mentioning(state: &ApiState, team: &str) -> Result<Option<String>> {
    let workers = state.store.workers().await?;
    let worker = workers
        .into_iter()
        .find(|worker| worker.team.as_deref() == Some(team));
    let worker = worker.map(|worker| worker.name);
    if let Some(worker) = worker.or_else(|| state.workers.naming_team(team)) {
        return Ok(Some(format!("worker `{worker}`")));
    }
    if let Some(control) = state.pipelines.control(team) {
        let (namespace, cluster) = (control.namespace, control.cluster);
        return Ok(Some(format!(
            "the control file's namespace `{namespace}` of cluster `{cluster}`"
        )));
    }
    let passes = state.store.agent_passes().await?;
    let pass = passes
        .into_iter()
        .find(|pass| pass.team.as_deref() == Some(team));
    Ok(pass.map(|pass| format!("the token of agent `{}`", pass.name)))
}

pub(super) async fn destroy(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<StatusCode> {
    if state.store.destroy_team(scope.team()?.id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        // The last team that administers stays. fly has words of its own for a refusal without any.
        Ok(StatusCode::FORBIDDEN)
    }
}
