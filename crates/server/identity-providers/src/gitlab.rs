//! GitLab, which is an OpenID provider with habits of its own.

use std::time::Duration;

use airside_auth::ConnectorName;

use crate::{Oidc, OidcConfig, OidcSetupError, Secret};

#[derive(Clone, Debug)]
pub struct GitlabConfig {
    /// Address of GitLab, with its scheme.
    pub host: String,
    pub client_id: String,
    pub client_secret: Secret,
    pub ca: Option<Vec<u8>>,
    pub patience: Duration,
}

/// The user's groups are in `groups` of the user info, subgroups with their whole path. GitLab
/// shows only email addresses that are confirmed.
pub fn gitlab(config: GitlabConfig) -> Result<Oidc, OidcSetupError> {
    let host = config.host.trim_end_matches('/');
    Oidc::new(OidcConfig {
        connector: ConnectorName::Gitlab,
        title: "GitLab".to_owned(),
        user_name_key: Some("nickname".to_owned()),
        skip_email_verified: true,
        ca: config.ca,
        patience: config.patience,
        ..OidcConfig::new(host, &config.client_id, config.client_secret)
    })
}
