//! The side bar of the pages that lists are on.

use airside_store::Team;
use airside_ui::{SideBar, SidePlace};

use crate::{
    ApiState, CONCOURSE_VERSION,
    error::Result,
    routes::{server::running_and_away, workers::is_visible},
    scope::RequestScope,
};

/// Returns the side bar as the caller gets it: the workers in it are those that the API lists.
pub(crate) async fn side_bar(
    state: &ApiState,
    scope: &RequestScope,
    teams: &[Team],
    place: SidePlace,
) -> Result<SideBar> {
    let mut workers = None;
    if scope.principal().is_some() {
        let mut seen = state.store.workers().await?;
        seen.retain(|worker| is_visible(worker, teams, scope));
        workers = Some(running_and_away(state, &seen).0.len());
    }
    Ok(SideBar {
        place,
        workers,
        version: state.version.to_string(),
        fly_version: CONCOURSE_VERSION.to_owned(),
    })
}
