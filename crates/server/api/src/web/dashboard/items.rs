//! Pipelines in the few bytes that a dashboard of thousands can afford.

use std::collections::HashSet;

use airside_auth::Principal;
use airside_model::{BuildStatus, TeamId};
use airside_store::{
    DashboardJob, DashboardOf, DashboardPipeline, JobActivity, Micros, Store, Team,
};
use serde_json::{Value, json};

use crate::{error::Result, scope::RequestScope};

const PAUSED: u8 = 1;
const ARCHIVED: u8 = 2;
const EXPOSED: u8 = 4;
const INSIDE: u8 = 8;

/// Returns what the caller may see, as the live stream's topic `dashboard` has it.
pub(super) async fn visible(
    store: &Store,
    scope: &RequestScope,
    teams: &[Team],
) -> Result<Vec<Value>> {
    let can_view = |user: &Principal, team: &&Team| user.can_view(team);
    let viewed: HashSet<TeamId> = match scope.principal() {
        Some(user) => teams
            .iter()
            .filter(|team| can_view(user, team))
            .map(|team| team.id)
            .collect(),
        None => HashSet::new(),
    };
    let mut ids: Vec<TeamId> = viewed.iter().copied().collect();
    ids.sort_unstable_by_key(|id| id.0);
    let pipelines = store.dashboard(&DashboardOf::Visible(ids)).await?;
    let items = pipelines
        .iter()
        .map(|pipeline| item(pipeline, viewed.contains(&pipeline.team)));
    Ok(items.collect())
}

/// Writes one pipeline. People are named to the members of its team only.
fn item(pipeline: &DashboardPipeline, inside: bool) -> Value {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    let flags = flag(pipeline.paused, PAUSED)
        + flag(pipeline.archived, ARCHIVED)
        + flag(pipeline.public, EXPOSED)
        + flag(inside, INSIDE);
    let running = pipeline
        .jobs
        .iter()
        .filter(|job| job.activity != JobActivity::Idle);
    let mut item = vec![
        json!(pipeline.id.0),
        json!(pipeline.team_name),
        json!(pipeline.name),
        json!(flags),
        json!(pipeline.since().map_or(0, Micros::seconds)),
        json!(pipeline.jobs.iter().map(status).collect::<String>()),
        json!(pipeline.ranks),
        json!(running.count()),
        json!(pipeline.failing_checks),
    ];
    let pause = (pipeline.paused && inside).then(|| {
        let by = pipeline.paused_by.as_deref().unwrap_or_default();
        json!([by, pipeline.paused_at.map_or(0, Micros::seconds)])
    });
    if !pipeline.instance_vars.is_empty() {
        item.push(json!(pipeline.instance_vars.as_map()));
    } else if pause.is_some() {
        item.push(json!(0));
    }
    item.extend(pause);
    Value::Array(item)
}

/// Returns a job's digit in base 36: its last status, what goes on, and if it is paused.
fn status(job: &DashboardJob) -> char {
    let latest = match job.latest {
        Some(BuildStatus::Succeeded) => 1,
        Some(BuildStatus::Failed) => 2,
        Some(BuildStatus::Errored) => 3,
        Some(BuildStatus::Aborted) => 4,
        _ => 0,
    };
    let activity = match job.activity {
        JobActivity::Idle => 0,
        JobActivity::Pending => 5,
        JobActivity::Started => 10,
    };
    let paused = if job.paused { 15 } else { 0 };
    char::from_digit(latest + activity + paused, 36).unwrap_or('0')
}
