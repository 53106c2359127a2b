//! Teams.

use airside_store::Team;
use serde_json::Value;

use super::Fields;

pub(crate) fn team(team: &Team) -> Value {
    Fields::default()
        .with("id", team.id.0)
        .with("name", team.name.as_str())
        .maybe("auth", team.auth.clone())
        .done()
}
