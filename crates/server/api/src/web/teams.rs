//! Teams: who belongs to them, and their pipelines in order.

mod pipelines;

use airside_auth::{Action, Principal, Role};
use airside_store::Team;
use airside_ui::{SendButton, SidePlace, TeamPage, TeamRole, TeamRow, TeamsPage};
use axum::{extract::State, response::Response};

use super::{PageRequest, links::escaped, side::side_bar};
use crate::{ApiState, error::Result};

/// Roles that a team gives, highest first.
const ROLES: [Role; 4] = [
    Role::Owner,
    Role::Member,
    Role::PipelineOperator,
    Role::Viewer,
];

pub(crate) async fn list(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let mut teams = state.store.teams().await?;
    teams.retain(|team| request.scope.can_view(team));
    teams.sort_by(|a, b| a.name.cmp(&b.name));
    let pipelines = state.store.pipelines(None).await?;
    let rows = teams.iter().map(|team| {
        let roles = roles(team);
        TeamRow {
            name: team.name.clone(),
            href: team_url(&team.name),
            role: role_of(request.scope.principal(), team),
            is_admin: team.admin,
            users: roles.iter().map(|role| role.users.len()).sum(),
            groups: roles.iter().map(|role| role.groups.len()).sum(),
            pipelines: pipelines
                .iter()
                .filter(|pipeline| pipeline.team == team.id)
                .count(),
        }
    });
    let shown = TeamsPage {
        teams: rows.collect(),
    };
    let side = side_bar(&state, &request.scope, &teams, SidePlace::Teams).await?;
    let mut page = shown.page();
    page.side = side.render_bar();
    Ok(request.show(&page))
}

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let team = request.scope.team()?;
    let here = team_url(&team.name);
    let pipelines = state.store.pipelines(Some(team.id)).await?;
    let rename = SendButton::new(
        "PUT",
        format!("/api/v1/teams/{}/rename", escaped(&team.name)),
        "Rename team",
        "i-edit",
    )
    .ask(
        "name",
        format!("New name of team {}", team.name),
        team.name.clone(),
    )
    .goto("/airside/teams");
    let rename = if team.admin {
        rename.refused("a team that administers keeps its name".to_owned())
    } else {
        rename
    };
    let may_rename = request.scope.may(Action::RenameTeam);
    let shown = TeamPage {
        role: role_of(request.scope.principal(), team),
        is_admin: team.admin,
        actions: may_rename.then_some(rename).into_iter().collect(),
        roles: roles(team),
        destroy: pipelines::destroy(&request, &pipelines),
        pipelines: pipelines::rows(&request, &pipelines, &here),
        href: here,
        name: team.name.clone(),
    };
    Ok(request.show(&shown.page()))
}

fn team_url(name: &str) -> String {
    format!("/airside/teams/{}", escaped(name))
}

fn role_of(principal: Option<&Principal>, team: &Team) -> &'static str {
    let role = principal.and_then(|principal| principal.role_on(team));
    role.map_or("", Role::as_str)
}

/// Returns the roles that the team gives to users or groups.
fn roles(team: &Team) -> Vec<TeamRole> {
    let named = |role: Role, kind: &str| {
        let names = team.auth[role.as_str()][kind].as_array();
        let names = names.into_iter().flatten();
        let names = names.filter_map(|name| name.as_str());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let roles = ROLES.into_iter().map(|role| TeamRole {
        name: role.as_str(),
        users: named(role, "users"),
        groups: named(role, "groups"),
    });
    roles
        .filter(|role| !role.users.is_empty() || !role.groups.is_empty())
        .collect()
}
