//! The workers that run the steps of the viewer's teams.

use std::collections::{HashMap, hash_map::Entry};

use airside_auth::Action;
use airside_model::{ContainerState, WorkerName, WorkerState};
use airside_store::{Container, ContainerFilter, Micros, Team, Worker, WorkerKind, now};
use airside_ui::{
    PageStatus, SendButton, SidePlace, WorkerPlace, WorkerRow, WorkerStep, WorkersPage,
};
use axum::{extract::State, response::Response};

use super::{
    PageRequest,
    links::escaped,
    place::{build_url, shown_time},
    side::side_bar,
};
use crate::{ApiState, WorkerCondition, error::Result, present, routes::workers::is_visible};

/// The most running steps on one page.
const MAX_STEPS: usize = 100;
const PARTS: &str = "workers";

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let teams = state.store.teams().await?;
    let mut workers = state.store.workers().await?;
    workers.retain(|worker| is_visible(worker, &teams, &request.scope));
    workers.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    let running = running(&state, &request, &teams).await?;
    let mut counts: HashMap<&WorkerName, usize> = HashMap::new();
    for container in &running {
        *counts.entry(&container.worker).or_default() += 1;
    }
    let rows = workers.iter().map(|worker| {
        let mut condition = state.workers.condition(&worker.name);
        condition.note_team(worker, &teams);
        let team = teams
            .iter()
            .find(|team| Some(team.name.as_str()) == worker.team.as_deref());
        let steps = counts.get(&worker.name).copied().unwrap_or_default();
        WorkerRow {
            actions: actions(&request, worker, team),
            ..row(worker, condition, steps, now())
        }
    });
    let shown = WorkersPage {
        workers: rows.collect(),
        steps: steps(&state, &running).await?,
        more_steps: running.len().saturating_sub(MAX_STEPS),
    };
    let side = side_bar(&state, &request.scope, &teams, SidePlace::Workers).await?;
    let mut page = shown.page();
    page.side = side.render_bar();
    Ok(request.show(&page))
}

/// Returns the containers of steps of the viewer's teams that run or start, the oldest first.
async fn running(
    state: &ApiState,
    request: &PageRequest,
    teams: &[Team],
) -> Result<Vec<Container>> {
    let mut containers = state.store.containers(&ContainerFilter::default()).await?;
    containers.retain(|container| {
        let is_alive = matches!(
            container.state,
            ContainerState::Creating | ContainerState::Created
        );
        let team = teams
            .iter()
            .find(|team| team.id == container.labels.team_id);
        let is_seen = team.is_some_and(|team| request.scope.can_view(team));
        is_alive && container.kept_at.is_none() && is_seen
    });
    Ok(containers)
}

fn row(worker: &Worker, condition: WorkerCondition, steps: usize, now: Micros) -> WorkerRow {
    let (state, status) = match present::worker::state(worker, &condition) {
        WorkerState::Running if !condition.lacks.is_empty() => {
            ("lacks something", PageStatus::Errored)
        }
        WorkerState::Running => ("running", PageStatus::Succeeded),
        WorkerState::Stalled => ("stalled", PageStatus::Errored),
        WorkerState::Landing => ("landing", PageStatus::Aborted),
        WorkerState::Landed => ("landed", PageStatus::Paused),
        WorkerState::Retiring => ("retiring", PageStatus::Aborted),
        WorkerState::Retired => ("retired", PageStatus::Aborted),
    };
    WorkerRow {
        name: worker.name.to_string(),
        kind: match worker.kind {
            WorkerKind::Local => WorkerPlace::ThisMachine,
            WorkerKind::Kubernetes => WorkerPlace::Cluster,
            WorkerKind::Agent => WorkerPlace::Remote,
        },
        state,
        status,
        team: worker.team.clone(),
        platform: worker.platform.clone(),
        tags: worker.tags.clone(),
        steps,
        containers: worker.active_containers,
        since: shown_time(worker.started_at, now),
        lacks: condition.lacks,
        actions: Vec::new(),
    }
}

/// Returns the buttons for those who may use them. A worker of no team is the administrators'.
fn actions(request: &PageRequest, worker: &Worker, team: Option<&Team>) -> Vec<SendButton> {
    let name = worker.name.as_str();
    let url = |change| format!("/api/v1/workers/{}/{change}", escaped(name));
    let button = |change, text, icon| SendButton::small("PUT", url(change), text, icon);
    let land = button("land", "Land", "i-arrow-down").confirm(format!(
        "Land {name}? Steps that run there end, and no new ones come."
    ));
    let retire = button("retire", "Retire", "i-archive").confirm(format!(
        "Retire {name}? Steps that run there end, and the worker is removed."
    ));
    let prune = button("prune", "Prune", "i-trash")
        .confirm(format!("Prune {name}? The worker is forgotten at once."));
    let back = SendButton::small("POST", "/api/v1/workers".to_owned(), "Bring back", "i-play")
        .body(serde_json::json!({ "name": name }).to_string());
    let offered = match worker.state {
        WorkerState::Running | WorkerState::Stalled => {
            vec![(Action::LandWorker, land), (Action::RetireWorker, retire)]
        }
        WorkerState::Landing | WorkerState::Landed => {
            vec![(Action::RegisterWorker, back), (Action::PruneWorker, prune)]
        }
        WorkerState::Retiring | WorkerState::Retired => vec![(Action::PruneWorker, prune)],
    };
    let allowed = offered.into_iter().filter(|(action, _)| match action {
        Action::RegisterWorker => request.scope.may_on(*action, None),
        _ => request.scope.may_on(*action, team),
    });
    allowed.map(|(_, button)| button.parts(PARTS)).collect()
}

/// Returns the steps with links to their builds.
async fn steps(state: &ApiState, running: &[Container]) -> Result<Vec<WorkerStep>> {
    let mut builds = HashMap::new();
    let mut steps = Vec::new();
    for container in running.iter().take(MAX_STEPS) {
        let labels = &container.labels;
        let href = match builds.entry(container.build) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let build = state.store.build(container.build).await?;
                new.insert(build.as_ref().map(build_url))
            }
        };
        let Some(href) = href else { continue };
        let place = [labels.pipeline.as_deref(), labels.job.as_deref()];
        let place: Vec<_> = place.into_iter().flatten().collect();
        steps.push(WorkerStep {
            key: container.handle.to_string(),
            build: if place.is_empty() {
                format!("one-off #{}", labels.build_name)
            } else {
                format!("{} #{}", place.join("/"), labels.build_name)
            },
            href: href.clone(),
            step: format!("{} {}", labels.kind, labels.step),
            worker: container.worker.to_string(),
            team: labels.team.clone(),
            is_starting: container.state == ContainerState::Creating,
        });
    }
    Ok(steps)
}
