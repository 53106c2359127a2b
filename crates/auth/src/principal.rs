//! Somebody who showed a valid token.

use airside_store::Team;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Role;

/// What a token says about its holder; stored with its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) sub: String,
    pub(crate) name: String,
    pub(crate) user_id: String,
    pub(crate) user_name: String,
    pub(crate) email: String,
    /// Which kind of login vouched for the user; `local` for users in the server's settings.
    pub(crate) connector: String,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}

impl Claims {
    pub(crate) fn local(name: &str) -> Self {
        Self {
            sub: format!("local:{name}"),
            name: name.to_owned(),
            user_id: name.to_owned(),
            user_name: name.to_owned(),
            email: name.to_owned(),
            connector: "local".to_owned(),
            groups: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    claims: Claims,
    admin: bool,
}

impl Principal {
    /// `teams` are all there are: owning one that administers makes an admin.
    pub(crate) fn new(claims: Claims, teams: &[Team]) -> Self {
        let mut principal = Self {
            claims,
            admin: false,
        };
        principal.admin = teams
            .iter()
            .any(|team| team.admin && principal.given_role(team) == Some(Role::Owner));
        principal
    }

    pub fn sub(&self) -> &str {
        &self.claims.sub
    }

    pub fn name(&self) -> &str {
        &self.claims.name
    }

    pub fn user_id(&self) -> &str {
        &self.claims.user_id
    }

    pub fn user_name(&self) -> &str {
        &self.claims.user_name
    }

    pub fn email(&self) -> &str {
        &self.claims.email
    }

    pub fn connector(&self) -> &str {
        &self.claims.connector
    }

    /// What other people are shown for this user, for example as the one who started a build.
    pub fn display_user_id(&self) -> &str {
        &self.claims.user_name
    }

    pub fn is_admin(&self) -> bool {
        self.admin
    }

    /// The role with which this user may act on the team: an admin is one everywhere.
    pub fn role_on(&self, team: &Team) -> Option<Role> {
        if self.admin {
            Some(Role::Admin)
        } else {
            self.given_role(team)
        }
    }

    /// Whether this user may see what is not exposed to everybody.
    pub fn can_view(&self, team: &Team) -> bool {
        self.role_on(team).is_some()
    }

    /// Every role that the team's own auth gives to this user.
    pub fn given_roles(&self, team: &Team) -> Vec<Role> {
        let Some(auth) = team.auth.as_object() else {
            return Vec::new();
        };
        auth.iter()
            .filter(|(_, members)| self.is_among(members))
            .filter_map(|(role, _)| Role::parse(role))
            .collect()
    }

    fn given_role(&self, team: &Team) -> Option<Role> {
        self.given_roles(team).into_iter().max()
    }

    /// A role that names nobody is nobody's.
    fn is_among(&self, members: &Value) -> bool {
        let claims = &self.claims;
        let users = [&claims.user_id, &claims.user_name];
        names(members, "users").any(|member| users.iter().any(|user| self.is_called(member, user)))
            || names(members, "groups").any(|member| {
                claims
                    .groups
                    .iter()
                    .any(|group| self.is_called(member, group))
            })
    }

    fn is_called(&self, member: &str, name: &str) -> bool {
        let connector = &self.claims.connector;
        !name.is_empty() && member.to_lowercase() == format!("{connector}:{name}").to_lowercase()
    }
}

fn names<'a>(members: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    members
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use airside_model::TeamId;
    use serde_json::json;

    use super::*;

    fn team(admin: bool, auth: Value) -> Team {
        Team {
            id: TeamId(1),
            name: "t".into(),
            admin,
            auth,
        }
    }

    #[test]
    fn the_highest_role_that_names_the_user_counts() {
        let mut claims = Claims::local("Test");
        claims.groups = vec!["org".into()];
        let principal = Principal::new(claims, &[]);
        for (auth, expected) in [
            (
                json!({"owner": {"users": ["local:test"], "groups": []}}),
                Some(Role::Owner),
            ),
            (
                json!({"viewer": {"users": ["LOCAL:TEST"]}}),
                Some(Role::Viewer),
            ),
            (
                json!({"viewer": {"users": ["local:test"]}, "member": {"groups": ["local:org"]}}),
                Some(Role::Member),
            ),
            (
                json!({"owner": {"users": ["github:test"], "groups": []}}),
                None,
            ),
            (
                json!({"owner": {"users": ["test"], "groups": ["local:test"]}}),
                None,
            ),
            (json!({"owner": {"users": [], "groups": []}}), None),
            (json!({"admin": {"users": ["local:test"]}}), None),
            (json!({"emperor": {"users": ["local:test"]}}), None),
            (json!({}), None),
            (json!(null), None),
            (json!({"owner": ["local:test"]}), None),
        ] {
            assert_eq!(
                principal.role_on(&team(false, auth.clone())),
                expected,
                "{auth}"
            );
        }
    }

    #[test]
    fn only_owners_of_an_admin_team_are_admins() {
        let owner = json!({"owner": {"users": ["local:ann"]}});
        let member = json!({"member": {"users": ["local:ann"]}});
        let other = team(false, json!({}));
        for (own, admin) in [
            (team(true, owner.clone()), true),
            (team(true, member), false),
            (team(false, owner), false),
        ] {
            let principal = Principal::new(Claims::local("ann"), std::slice::from_ref(&own));
            assert_eq!(principal.is_admin(), admin);
            assert_eq!(principal.role_on(&other), admin.then_some(Role::Admin));
        }
    }
}
