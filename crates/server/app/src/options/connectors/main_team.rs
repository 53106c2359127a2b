//! Who owns team main, and so administers the server.

use airside_auth::{ConnectorName, LocalUser};
use serde_json::{Value, json};

#[derive(clap::Args)]
#[command(next_help_heading = "Owners of team main")]
pub(crate) struct MainTeamOptions {
    /// Local users that own team main [default: the first local user, if nothing else says who does]
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_local_user: Vec<String>,

    /// OIDC users that own team main, by user name or id
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_oidc_user: Vec<String>,

    /// OIDC groups whose users own team main
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    main_team_oidc_group: Vec<String>,

    /// GitHub users that own team main
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_github_user: Vec<String>,

    /// GitHub organisations whose members own team main
    #[arg(long, value_name = "ORG", value_delimiter = ',')]
    main_team_github_org: Vec<String>,

    /// GitHub teams whose members own team main
    #[arg(long, value_name = "ORG:TEAM", value_delimiter = ',')]
    main_team_github_team: Vec<String>,

    /// GitLab users that own team main
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_gitlab_user: Vec<String>,

    /// GitLab groups whose members own team main
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    main_team_gitlab_group: Vec<String>,

    /// LDAP users that own team main
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_ldap_user: Vec<String>,

    /// LDAP groups whose users own team main
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    main_team_ldap_group: Vec<String>,
}

impl MainTeamOptions {
    fn users(&self) -> Vec<String> {
        members(&[
            (ConnectorName::Local, &self.main_team_local_user),
            (ConnectorName::Oidc, &self.main_team_oidc_user),
            (ConnectorName::Github, &self.main_team_github_user),
            (ConnectorName::Gitlab, &self.main_team_gitlab_user),
            (ConnectorName::Ldap, &self.main_team_ldap_user),
        ])
    }

    fn groups(&self) -> Vec<String> {
        members(&[
            (ConnectorName::Oidc, &self.main_team_oidc_group),
            (ConnectorName::Github, &self.main_team_github_org),
            (ConnectorName::Github, &self.main_team_github_team),
            (ConnectorName::Gitlab, &self.main_team_gitlab_group),
            (ConnectorName::Ldap, &self.main_team_ldap_group),
        ])
    }

    pub(crate) fn is_given(&self) -> bool {
        !self.users().is_empty() || !self.groups().is_empty()
    }

    pub(crate) fn auth(&self, local: &[LocalUser]) -> Value {
        let (mut users, groups) = (self.users(), self.groups());
        if users.is_empty() && groups.is_empty() {
            let first = local.first().map(|user| user.name().to_owned());
            users = members(&[(ConnectorName::Local, &Vec::from_iter(first))]);
        }
        json!({"owner": {"users": users, "groups": groups}})
    }
}

/// As teams name their members.
fn members(given: &[(ConnectorName, &Vec<String>)]) -> Vec<String> {
    let mut members = Vec::new();
    for (connector, names) in given {
        let names = names.iter().filter(|name| !name.is_empty());
        members.extend(names.map(|name| format!("{connector}:{}", name.to_lowercase())));
    }
    members
}
