//! Names that the palette leads to: those of pipelines, jobs and resources.

use airside_model::TeamId;
use airside_store::{FoundName, NameMatch, NamedKind, Team};
use axum::{
    Json,
    extract::{Query, State},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::links;
use crate::{
    ApiState,
    error::{ApiError, Result},
    scope::RequestScope,
};

/// Names of each kind that the palette shows at most.
const SHOWN: u32 = 12;
/// Pipelines that a term of the dashboard's search may find.
const FILTERED: u32 = 10_000;
const MAX_TEXT_BYTES: usize = 200;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct GoQuery {
    /// Words that a name must have.
    q: String,
    /// `job` or `resource`: asks for the pipelines that have one of this name instead.
    having: String,
    name: String,
    how: String,
}

/// Finds what the caller may see by parts of its name.
pub(crate) async fn find(
    State(state): State<ApiState>,
    scope: RequestScope,
    Query(asked): Query<GoQuery>,
) -> Result<Json<Value>> {
    if asked.q.len().max(asked.name.len()) > MAX_TEXT_BYTES {
        let why = format!("a name to look for has at most {MAX_TEXT_BYTES} bytes");
        return Err(ApiError::BadRequest(why));
    }
    let teams: Vec<TeamId> = viewed(&scope, &state.store.teams().await?);
    if !asked.having.is_empty() {
        return having(&state, &asked, &teams).await;
    }
    let words: Vec<String> = asked.q.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Ok(Json(json!({})));
    }
    let wanted = NameMatch::Words(words);
    let find = |kind| state.store.find_named(kind, &wanted, &teams, SHOWN);
    let pipelines = find(NamedKind::Pipeline).await?;
    let jobs = find(NamedKind::Job).await?;
    let resources = find(NamedKind::Resource).await?;
    let places = |found: &[FoundName], kind| -> Vec<Value> {
        found.iter().map(|found| place(found, kind)).collect()
    };
    Ok(Json(json!({
        "pipelines": places(&pipelines, None),
        "jobs": places(&jobs, Some("jobs")),
        "resources": places(&resources, Some("resources")),
    })))
}

fn viewed(scope: &RequestScope, teams: &[Team]) -> Vec<TeamId> {
    let viewed = teams.iter().filter(|team| scope.can_view(team));
    viewed.map(|team| team.id).collect()
}

/// Answers with the ids of the pipelines that have a job or a resource of a name.
async fn having(state: &ApiState, asked: &GoQuery, teams: &[TeamId]) -> Result<Json<Value>> {
    let kind = match asked.having.as_str() {
        "job" => NamedKind::Job,
        "resource" => NamedKind::Resource,
        _ => {
            let why = "having is one of job and resource".to_owned();
            return Err(ApiError::BadRequest(why));
        }
    };
    let name = asked.name.clone();
    let wanted = match asked.how.as_str() {
        "exact" => NameMatch::Exact(name),
        "prefix" => NameMatch::Prefix(name),
        _ => NameMatch::Letters(name),
    };
    let found = state
        .store
        .find_named(kind, &wanted, teams, FILTERED)
        .await?;
    let mut ids: Vec<i64> = found.iter().map(|found| found.pipeline.0).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(Json(json!({ "pipelines": ids })))
}

/// Returns what is shown of a name: the text, where that is, and the address.
fn place(found: &FoundName, kind: Option<&str>) -> Value {
    let rest: Vec<&str> = kind
        .into_iter()
        .chain(kind.map(|_| found.name.as_str()))
        .collect();
    let (team, pipeline) = (&found.team_name, &found.pipeline_name);
    let address = links::team_pipeline_url(team, pipeline, &found.instance_vars, &rest);
    let vars = airside_vars::InstanceVars(found.instance_vars.as_map().clone());
    let vars = vars.shown(|_| true);
    let hint = if vars.is_empty() {
        team.clone()
    } else {
        format!("{team}, {vars}")
    };
    let text = match kind {
        Some(_) => format!("{pipeline} / {}", found.name),
        None => pipeline.clone(),
    };
    json!([text, hint, address])
}
