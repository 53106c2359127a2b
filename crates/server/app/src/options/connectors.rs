//! Options for logging in through identity providers outside, and for who owns team main.

mod ldap;
mod main_team;

use std::path::{Path, PathBuf};

use airside_auth::LocalUser;
use airside_identity_providers::{
    Connectors, Github, GithubConfig, GitlabConfig, Ldap, Oidc, OidcConfig, REQUEST_TIMEOUT,
    Secret, gitlab,
};
use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::{ldap::LdapOptions, main_team::MainTeamOptions};

/// Names are those of Concourse, but for the files that secrets are read from.
#[derive(clap::Args)]
#[command(next_help_heading = "Identity providers")]
pub(crate) struct ConnectorOptions {
    /// URL of an OpenID Connect provider; its endpoints are discovered below /.well-known. See
    /// docs/login.md
    #[arg(long, value_name = "URL")]
    oidc_issuer: Option<String>,

    /// Client id of this server at the OIDC provider
    #[arg(long, value_name = "ID")]
    oidc_client_id: Option<String>,

    /// Client secret of this server at the OIDC provider; visible to other users of this machine,
    /// so prefer the file
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    oidc_client_secret: Option<String>,

    /// File with the OIDC client secret
    #[arg(long, value_name = "FILE")]
    oidc_client_secret_file: Option<PathBuf>,

    /// Name of the OIDC provider on the login page
    #[arg(long, value_name = "NAME", default_value = "OIDC")]
    oidc_display_name: String,

    /// Scope to request from the OIDC provider in addition to `openid`. Can be repeated [default:
    /// profile, email]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    oidc_scope: Vec<String>,

    /// Claim with the user name, for providers without `preferred_username` [default: username]
    #[arg(long, value_name = "CLAIM")]
    oidc_user_name_key: Option<String>,

    /// Claim with the user's groups
    #[arg(long, value_name = "CLAIM", default_value = "groups")]
    oidc_groups_key: String,

    /// Ignore the groups that the OIDC provider reports
    #[arg(long)]
    oidc_disable_groups: bool,

    /// Use the id token's claims only; do not request the provider's user info endpoint
    #[arg(long)]
    oidc_disable_get_user_info: bool,

    /// Accept users whose email address the OIDC provider has not verified
    #[arg(long)]
    oidc_skip_email_verified_validation: bool,

    /// File with CA certificates (PEM) to trust for the OIDC provider, in addition to this
    /// machine's
    #[arg(long, value_name = "FILE")]
    oidc_ca_cert: Option<PathBuf>,

    /// Client id of the OAuth app at GitHub; enables logging in with GitHub. See docs/login.md
    #[arg(long, value_name = "ID")]
    github_client_id: Option<String>,

    /// Client secret of the OAuth app at GitHub; visible to other users of this machine, so prefer
    /// the file
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    github_client_secret: Option<String>,

    /// File with the GitHub client secret
    #[arg(long, value_name = "FILE")]
    github_client_secret_file: Option<PathBuf>,

    /// Host of a GitHub Enterprise server [default: github.com]
    #[arg(long, value_name = "HOST")]
    github_host: Option<String>,

    /// File with CA certificates (PEM) to trust for GitHub Enterprise, in addition to this
    /// machine's
    #[arg(long, value_name = "FILE")]
    github_ca_cert: Option<PathBuf>,

    /// Id of the application at GitLab; enables logging in with GitLab. See docs/login.md
    #[arg(long, value_name = "ID")]
    gitlab_client_id: Option<String>,

    /// Secret of the application at GitLab; visible to other users of this machine, so prefer the
    /// file
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    gitlab_client_secret: Option<String>,

    /// File with the GitLab application's secret
    #[arg(long, value_name = "FILE")]
    gitlab_client_secret_file: Option<PathBuf>,

    /// URL of the GitLab server
    #[arg(long, value_name = "URL", default_value = "https://gitlab.com")]
    gitlab_host: String,

    /// File with CA certificates (PEM) to trust for GitLab, in addition to this machine's
    #[arg(long, value_name = "FILE")]
    gitlab_ca_cert: Option<PathBuf>,

    #[command(flatten)]
    ldap: LdapOptions,

    #[command(flatten)]
    main_team: MainTeamOptions,
}

impl ConnectorOptions {
    /// All connectors that the options describe whole; half a one is an error.
    pub(crate) fn connectors(&self) -> Result<Connectors> {
        let mut connectors = Connectors::default();
        if let Some(config) = self.oidc()? {
            connectors.add(Oidc::new(config).context("cannot use --oidc-issuer")?);
        }
        if let Some(config) = self.github()? {
            connectors.add(Github::new(config).context("cannot use GitHub")?);
        }
        if let Some(config) = self.gitlab()? {
            connectors.add(gitlab(config).context("cannot use --gitlab-host")?);
        }
        if let Some(config) = self.ldap.config()? {
            connectors.set_directory(Ldap::new(config).context("cannot use --ldap-host")?);
        }
        Ok(connectors)
    }

    /// The owners of team main: those of the options, or else the first local user.
    pub(crate) fn main_team(&self, users: &[LocalUser]) -> Value {
        self.main_team.auth(users)
    }

    /// Returns true if team main has an owner who is not a local user.
    pub(crate) fn has_main_team(&self) -> bool {
        self.main_team.is_given()
    }

    fn oidc(&self) -> Result<Option<OidcConfig>> {
        let Some(issuer) = &self.oidc_issuer else {
            return unused("--oidc-issuer", "--oidc-client-id", &self.oidc_client_id);
        };
        let id = needed("--oidc-client-id", &self.oidc_client_id)?;
        let file = self.oidc_client_secret_file.as_deref();
        let secret = secret("--oidc-client-secret", &self.oidc_client_secret, file)?;
        let mut config = OidcConfig::new(issuer, id, secret);
        config.title.clone_from(&self.oidc_display_name);
        if !self.oidc_scope.is_empty() {
            config.scopes.clone_from(&self.oidc_scope);
        }
        config.user_name_key.clone_from(&self.oidc_user_name_key);
        let groups = self.oidc_groups_key.clone();
        config.groups_key = Some(groups).filter(|_| !self.oidc_disable_groups);
        config.ask_user_info = !self.oidc_disable_get_user_info;
        config.skip_email_verified = self.oidc_skip_email_verified_validation;
        config.ca = read("--oidc-ca-cert", self.oidc_ca_cert.as_deref())?;
        Ok(Some(config))
    }

    fn github(&self) -> Result<Option<GithubConfig>> {
        let Some(id) = &self.github_client_id else {
            return unused("--github-client-id", "--github-host", &self.github_host);
        };
        let file = self.github_client_secret_file.as_deref();
        let secret = secret("--github-client-secret", &self.github_client_secret, file)?;
        let host = self.github_host.as_deref();
        let mut config = GithubConfig::new(host, id, secret).context("cannot use --github-host")?;
        config.ca = read("--github-ca-cert", self.github_ca_cert.as_deref())?;
        Ok(Some(config))
    }

    fn gitlab(&self) -> Result<Option<GitlabConfig>> {
        let Some(id) = &self.gitlab_client_id else {
            return Ok(None);
        };
        let file = self.gitlab_client_secret_file.as_deref();
        Ok(Some(GitlabConfig {
            host: self.gitlab_host.clone(),
            client_id: id.clone(),
            client_secret: secret("--gitlab-client-secret", &self.gitlab_client_secret, file)?,
            ca: read("--gitlab-ca-cert", self.gitlab_ca_cert.as_deref())?,
            patience: REQUEST_TIMEOUT,
        }))
    }
}

/// Fails if a part is given without what makes it a whole.
fn unused<T>(needs: &str, option: &str, given: &Option<String>) -> Result<Option<T>> {
    match given {
        Some(_) => bail!("{option} is given, but {needs} is not"),
        None => Ok(None),
    }
}

fn needed<'a>(option: &str, value: &'a Option<String>) -> Result<&'a str> {
    let value = value.as_deref().filter(|value| !value.is_empty());
    value.with_context(|| format!("{option} is missing; see docs/login.md"))
}

/// Given as it is or in a file, where a line end does not count. Never shown.
fn secret(option: &str, given: &Option<String>, file: Option<&Path>) -> Result<Secret> {
    let text = match (given, file) {
        (Some(_), Some(_)) => bail!("{option} and {option}-file are both given; choose one"),
        (Some(text), None) => text.clone(),
        (None, Some(file)) => std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {option}-file {}", file.display()))?
            .trim_end_matches(['\r', '\n'])
            .to_owned(),
        (None, None) => bail!("{option}-file is missing; see docs/login.md"),
    };
    if text.is_empty() {
        bail!("{option} is empty");
    }
    Ok(Secret::new(text))
}

fn read(option: &str, file: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let Some(file) = file else {
        return Ok(None);
    };
    let bytes = std::fs::read(file);
    let bytes = bytes.with_context(|| format!("cannot read {option} {}", file.display()))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
