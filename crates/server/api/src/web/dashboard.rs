//! The dashboard: all pipelines that the viewer may see.

use airside_auth::Role;
use airside_live::LiveSight;
use airside_store::Team;
use airside_ui::{Dashboard, FirstRun, SidePlace, WallMessage};
use axum::{extract::State, response::Response};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::{PageRequest, side::side_bar};
use crate::{ApiState, error::Result, routes::server::running_and_away, scope::RequestScope};

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let teams = state.store.teams().await?;
    let scope = &request.scope;
    let mut page = Dashboard {
        wall: wall(&state).await?,
        is_admin: scope.principal().is_some_and(|user| user.is_admin()),
        topic: "dashboard".to_owned(),
        ..Dashboard::default()
    };
    let side = side_bar(&state, scope, &teams, SidePlace::Dashboard).await?;
    if request.query("part").is_some() {
        // Of this page, fragments are the wall alone.
        return Ok(request.show(&page.page(&side)));
    }
    let shown = state.live.dashboard(sight(scope, &teams)).await;
    let shown = shown.unwrap_or_else(|| r#"{"items":null}"#.to_owned());
    let document = Document::read(&shown);
    if document.items.as_ref().is_some_and(Vec::is_empty) {
        let workers = state.store.workers().await?;
        let (running, _) = running_and_away(&state, &workers);
        let first_run = FirstRun {
            external_url: state.external_url.to_string(),
            workers: running.len(),
            team: own_team(scope, &teams),
        };
        return Ok(request.show(&first_run.page()));
    }
    if let (Some(boot), Some(version)) = (&document.boot, document.v) {
        page.topic = format!("dashboard@{boot}-{version}");
    }
    let (teams, now) = (
        Value::from(roles(scope, &teams)),
        airside_store::now().seconds(),
    );
    page.data = format!("{{\"teams\":{teams},\"now\":{now},\"live\":{shown}}}");
    Ok(request.show(&page.page(&side)))
}

/// The live stream's document of a dashboard, as far as its page reads it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    boot: Option<String>,
    v: Option<u64>,
    /// None if they cannot be read now: then the stream tells them as soon as they can.
    items: Option<Vec<IgnoredAny>>,
}

impl Document {
    fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

fn sight(scope: &RequestScope, teams: &[Team]) -> LiveSight {
    if scope.principal().is_some_and(|user| user.is_admin()) {
        return LiveSight::All;
    }
    let viewed = teams.iter().filter(|team| scope.can_view(team));
    LiveSight::Teams(viewed.map(|team| team.id).collect())
}

async fn wall(state: &ApiState) -> Result<Option<WallMessage>> {
    let wall = state.store.wall().await?;
    Ok(wall.map(|wall| WallMessage {
        message: wall.message,
    }))
}

/// Returns the viewer's team with the most rights, and the role in it.
fn own_team(scope: &RequestScope, teams: &[Team]) -> Option<(String, String)> {
    let user = scope.principal()?;
    let with_role = teams
        .iter()
        .filter_map(|team| Some((user.role_on(team)?, team)));
    let (role, team) = with_role.max_by_key(|(role, team)| (*role, std::cmp::Reverse(team.id)))?;
    Some((team.name.clone(), role.as_str().to_owned()))
}

/// Returns the teams that the viewer belongs to, with the roles by which the page offers actions.
fn roles(scope: &RequestScope, teams: &[Team]) -> Vec<Value> {
    let Some(user) = scope.principal() else {
        return Vec::new();
    };
    let rights = |team: &Team| {
        let role = user.role_on(team)?;
        let given = user.given_roles(team).into_iter().max();
        let shown = given.unwrap_or(role);
        let may_pause = role >= Role::PipelineOperator;
        let may_change = role >= Role::Member;
        Some(json!([
            team.name,
            shown.as_str(),
            u8::from(may_pause) + 2 * u8::from(may_change)
        ]))
    };
    teams.iter().filter_map(rights).collect()
}
