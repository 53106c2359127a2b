//! Options for the owners of team main, who administer the server.

use airside_auth::{ConnectorName, LocalUser};
use serde_json::{Value, json};

#[derive(clap::Args)]
#[command(next_help_heading = "Owners of team main")]
pub(crate) struct MainTeamOptions {
    /// Local user that owns team main. Can be repeated [default: the first local user, if no other
    /// owner is given]
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_local_user: Vec<String>,

    /// OIDC user that owns team main, by user name or id. Can be repeated
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_oidc_user: Vec<String>,

    /// OIDC group whose users own team main. Can be repeated
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    main_team_oidc_group: Vec<String>,

    /// GitHub user that owns team main. Can be repeated
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_github_user: Vec<String>,

    /// GitHub organization whose members own team main. Can be repeated
    #[arg(long, value_name = "ORG", value_delimiter = ',')]
    main_team_github_org: Vec<String>,

    /// GitHub team whose members own team main. Can be repeated
    #[arg(long, value_name = "ORG:TEAM", value_delimiter = ',')]
    main_team_github_team: Vec<String>,

    /// GitLab user that owns team main. Can be repeated
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_gitlab_user: Vec<String>,

    /// GitLab group whose members own team main. Can be repeated
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    main_team_gitlab_group: Vec<String>,

    /// LDAP user that owns team main. Can be repeated
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    main_team_ldap_user: Vec<String>,

    /// LDAP group whose users own team main. Can be repeated
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

/// Returns members in the form `connector:name` of teams.
fn members(given: &[(ConnectorName, &Vec<String>)]) -> Vec<String> {
    let mut members = Vec::new();
    for (connector, names) in given {
        let names = names.iter().filter(|name| !name.is_empty());
        members.extend(names.map(|name| format!("{connector}:{}", name.to_lowercase())));
    }
    members
}
