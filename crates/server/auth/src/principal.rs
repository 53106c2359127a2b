//! Users who showed a valid token.

use airside_store::Team;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ConnectorName, Identity, Role, identity::display_name};

/// The claims of a token about its holder; stored with its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) sub: String,
    pub(crate) name: String,
    pub(crate) user_id: String,
    pub(crate) user_name: String,
    pub(crate) email: String,
    pub(crate) connector: ConnectorName,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}

impl From<Identity> for Claims {
    fn from(identity: Identity) -> Self {
        Self {
            sub: format!("{}:{}", identity.connector, identity.user_id),
            name: identity.name,
            user_id: identity.user_id,
            user_name: identity.user_name,
            email: identity.email,
            connector: identity.connector,
            groups: identity.groups,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    claims: Claims,
    admin: bool,
    in_a_team: bool,
}

impl Principal {
    /// `teams` are all there are: owning one that administers makes an admin.
    pub(crate) fn new(claims: Claims, teams: &[Team]) -> Self {
        let mut principal = Self {
            claims,
            admin: false,
            in_a_team: false,
        };
        principal.in_a_team = teams
            .iter()
            .any(|team| principal.given_role(team).is_some());
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

    pub fn connector(&self) -> ConnectorName {
        self.claims.connector
    }

    /// Returns the name that other users are shown for this user, for example as the one who
    /// started a build.
    pub fn display_user_id(&self) -> &str {
        let claims = &self.claims;
        display_name(&claims.user_name, &claims.user_id, &claims.name)
    }

    /// Returns true if any team gives this user a role.
    pub fn is_in_a_team(&self) -> bool {
        self.in_a_team
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

    /// Returns true if this user may see objects that are not exposed to all.
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

    /// Returns true if the user is among the members. A role without members has none.
    fn is_among(&self, members: &Value) -> bool {
        let claims = &self.claims;
        let called = match claims.user_name.as_str() {
            "" => &claims.name,
            user_name => user_name,
        };
        let users = [claims.user_id.as_str(), called];
        names(members, "users").any(|member| users.iter().any(|user| self.is_called(member, user)))
            || names(members, "groups").any(|member| {
                claims
                    .groups
                    .iter()
                    .any(|group| self.is_called(member, group))
            })
    }

    fn is_called(&self, member: &str, name: &str) -> bool {
        let connector = self.claims.connector;
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
        let mut claims = Claims::from(Identity::local("Test"));
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
    fn a_user_is_known_by_id_or_user_name_and_by_name_only_without_one() {
        let known = |user_name: &str, member: &str| {
            let identity = Identity {
                connector: ConnectorName::Ldap,
                user_id: "7".into(),
                user_name: user_name.into(),
                name: "Ann Lee".into(),
                email: "ann@example.com".into(),
                groups: vec!["Ops".into(), String::new()],
            };
            let team = team(
                false,
                json!({"viewer": {"users": [member], "groups": [member]}}),
            );
            let principal = Principal::new(identity.into(), std::slice::from_ref(&team));
            assert_eq!(principal.is_in_a_team(), principal.can_view(&team));
            principal.can_view(&team)
        };
        for (user_name, member, expected) in [
            ("ann", "ldap:ann", true),
            ("ann", "ldap:7", true),
            ("ann", "ldap:ops", true),
            ("ann", "ldap:ann lee", false),
            ("", "ldap:ann lee", true),
            ("", "ldap:", false),
            ("ann", "ldap:ann@example.com", false),
            ("ann", "local:ann", false),
            ("ann", "oidc:7", false),
        ] {
            assert_eq!(
                known(user_name, member),
                expected,
                "{user_name:?} {member:?}"
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
            let principal = Principal::new(
                Claims::from(Identity::local("ann")),
                std::slice::from_ref(&own),
            );
            assert_eq!(principal.is_admin(), admin);
            assert_eq!(principal.role_on(&other), admin.then_some(Role::Admin));
        }
    }
}
