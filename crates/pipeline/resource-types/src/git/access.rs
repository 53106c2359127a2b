//! Access to a repository: its address, credentials, and settings for git.

use serde::Deserialize;

use crate::lenient::{number, text};

/// Everything that reaching a repository takes. Also what `semver` fills for its git driver.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) uri: Option<String>,
    pub(crate) private_key: Option<String>,
    pub(crate) private_key_user: Option<String>,
    pub(crate) private_key_passphrase: Option<String>,
    pub(crate) known_hosts: Option<String>,
    pub(crate) forward_agent: bool,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) skip_ssl_verification: bool,
    pub(crate) submodule_credentials: Vec<SubmoduleCredentials>,
    pub(crate) git_config: Vec<Setting>,
    pub(crate) https_tunnel: Option<Tunnel>,
    pub(crate) debug: bool,
}

/// One setting of git's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(crate) value: Option<String>,
}

/// Credentials for a submodule: by its host over HTTP, or by its address over ssh.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SubmoduleCredentials {
    #[serde(deserialize_with = "text")]
    pub(crate) host: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) username: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) password: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) url: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) private_key: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) private_key_passphrase: Option<String>,
}

/// A proxy that ssh connections go through.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tunnel {
    pub(crate) proxy_host: String,
    #[serde(deserialize_with = "number")]
    pub(crate) proxy_port: Option<u32>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) proxy_user: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) proxy_password: Option<String>,
}
