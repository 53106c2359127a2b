//! The user who asks.

use airside_auth::Principal;
use airside_store::Team;
use serde_json::{Map, Value, json};

/// Returns the caller, and the roles that each team gives them.
pub(crate) fn user(principal: &Principal, teams: &[Team]) -> Value {
    let mut memberships = Map::new();
    for team in teams {
        let roles: Vec<&str> = principal
            .given_roles(team)
            .into_iter()
            .map(|role| role.as_str())
            .collect();
        if !roles.is_empty() {
            memberships.insert(team.name.clone(), json!(roles));
        }
    }
    json!({
        "sub": principal.sub(),
        "name": principal.name(),
        "user_id": principal.user_id(),
        "user_name": principal.user_name(),
        "email": principal.email(),
        "is_admin": principal.is_admin(),
        "is_system": false,
        "teams": memberships,
        "connector": principal.connector().as_str(),
        "display_user_id": principal.display_user_id(),
    })
}
