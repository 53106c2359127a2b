//! All builds that the viewer may see.

mod choice;
mod rows;

use airside_model::BuildStatus;
use airside_store::{BuildChoice, BuildFilter, BuildPage, Team, now};
use airside_ui::{BuildsPage, PageStatus, SidePlace};
use axum::{extract::State, response::Response};

use self::choice::Choice;
use super::{PageRequest, paging::ListPage, side::side_bar};
use crate::{ApiState, error::Result, page};

/// The most builds that wait or run on one page.
const MAX_UNFINISHED: i64 = 200;

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let teams = state.store.teams().await?;
    let choice = Choice::of(&request);
    let filters = choice::filters(&state, &request, &teams, &choice).await?;
    let listed = ListPage::of(&request);
    let rows = rows::Rows {
        state: &state,
        request: &request,
        teams: &teams,
        now: now(),
    };
    let mut unfinished = Vec::new();
    if listed.is_first() {
        let chosen = narrowed(&filters, choice.status, BuildChoice::Unfinished);
        let page = BuildPage {
            limit: MAX_UNFINISHED,
            ..BuildPage::default()
        };
        unfinished = page::merged(&state.store, &chosen, page).await?;
    }
    // Those that take longest come first.
    unfinished.reverse();
    let (running, waiting): (Vec<_>, Vec<_>) = unfinished
        .into_iter()
        .partition(|build| build.status == BuildStatus::Started);
    let chosen = narrowed(&filters, choice.status, BuildChoice::Finished);
    let finished = page::merged(&state.store, &chosen, listed.builds()).await?;
    let (newer, older) = page::beyond(&state.store, &chosen, &finished).await?;
    let here = choice.address();
    let shown = BuildsPage {
        statuses: choice.statuses(),
        status: choice.status.map_or("", BuildStatus::as_str).to_owned(),
        teams: names(&request, &teams),
        is_filtered: choice.is_narrow(),
        waiting: rows.waiting(waiting).await?,
        running: rows.running(running).await?,
        finished: rows.finished(finished).await?,
        newer: newer.map(|id| listed.link(&here, "from", id.0)),
        older: older.map(|id| listed.link(&here, "to", id.0)),
        team: choice.team,
        pipeline: choice.pipeline,
    };
    let side = side_bar(&state, &request.scope, &teams, SidePlace::Builds).await?;
    let mut page = shown.page();
    page.side = side.render_bar();
    Ok(request.show(&page))
}

/// Returns the filters with the chosen status, as far as it belongs to this part of the page.
fn narrowed(
    filters: &[BuildFilter],
    status: Option<BuildStatus>,
    part: BuildChoice,
) -> Vec<BuildFilter> {
    let is_unfinished = |status| PageStatus::from(status).is_unfinished();
    let choice = match status {
        None => part,
        Some(status) if is_unfinished(status) == (part == BuildChoice::Unfinished) => {
            BuildChoice::Status(status)
        }
        Some(_) => return Vec::new(),
    };
    let filters = filters.iter().cloned();
    filters
        .map(|filter| BuildFilter { choice, ..filter })
        .collect()
}

/// Returns the teams that the viewer belongs to, or all for an administrator.
fn names(request: &PageRequest, teams: &[Team]) -> Vec<String> {
    let viewed = teams.iter().filter(|team| request.scope.can_view(team));
    let mut names: Vec<_> = viewed.map(|team| team.name.clone()).collect();
    names.sort_unstable();
    names
}
