//! Vault as the installation's secret manager.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use airside_secret_managers::{Owner, Vault, VaultSettings};
use airside_secrets::Installation;
use anyhow::{Context, Result};

use super::{duration, secret};

#[derive(clap::Args)]
#[command(next_help_heading = "Secrets in Vault")]
pub(crate) struct VaultOptions {
    /// URL of Vault; makes it the installation's secret manager. See docs/credentials/vault.md
    #[arg(long, value_name = "URL")]
    vault_url: Option<String>,

    /// Path below which all secrets are
    #[arg(long, value_name = "PATH", default_value = "/concourse")]
    vault_path_prefix: String,

    /// Path of a secret below the prefix, as a template; of several the first that exists is used.
    /// Can be repeated
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_values = ["/{{.Team}}/{{.Pipeline}}/{{.Secret}}", "/{{.Team}}/{{.Secret}}"]
    )]
    vault_lookup_templates: Vec<String>,

    /// Path below the prefix with the secrets that all teams share
    #[arg(long, value_name = "PATH")]
    vault_shared_path: Option<String>,

    /// Namespace, for Vault Enterprise
    #[arg(long, value_name = "NAMESPACE")]
    vault_namespace: Option<String>,

    /// Timeout of a login
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60s")]
    vault_login_timeout: Duration,

    /// Timeout of a request for a secret
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60s")]
    vault_query_timeout: Duration,

    /// Remember which version of the key-value engine each mount has instead of asking for every
    /// secret
    #[arg(long)]
    vault_enable_kv_mount_cache: bool,

    /// File with CA certificates (PEM) to trust for Vault, in addition to this machine's
    #[arg(long, value_name = "FILE")]
    vault_ca_cert: Option<PathBuf>,

    /// File with this server's client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    vault_client_cert: Option<PathBuf>,

    /// File with the client certificate's private key (PEM)
    #[arg(long, value_name = "FILE")]
    vault_client_key: Option<PathBuf>,

    /// Name that Vault's certificate must have, if it is not the URL's host
    #[arg(long, value_name = "NAME")]
    vault_server_name: Option<String>,

    /// Do not verify Vault's certificate: any server could pose as Vault
    #[arg(long)]
    vault_insecure_skip_verify: bool,

    /// Token for Vault; visible to other users of this machine, so prefer the file
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    vault_client_token: Option<String>,

    /// File with the token for Vault, read at the start
    #[arg(long, value_name = "FILE")]
    vault_client_token_file: Option<PathBuf>,

    /// File with the token for Vault, read again whenever the token has expired, such as the sink
    /// of a Vault agent
    #[arg(long, value_name = "FILE")]
    vault_client_token_path: Option<PathBuf>,

    /// Auth method to log in with: approle, kubernetes, cert, ldap, userpass, or another path below
    /// auth/
    #[arg(long, value_name = "BACKEND")]
    vault_auth_backend: Option<String>,

    /// Time after which to log in anew even if the token can be renewed [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    vault_auth_backend_max_ttl: Option<Duration>,

    /// Maximum pause between two attempts to log in
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    vault_retry_max: Duration,

    /// Pause after the first failed login; it doubles with each further one
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1s")]
    vault_retry_initial: Duration,

    /// Parameter of the login, for example role_id:ID; visible to other users of this machine, so
    /// prefer the file. Can be repeated
    #[arg(long, value_name = "NAME:VALUE", hide_env_values = true)]
    vault_auth_param: Vec<String>,

    /// Parameter of the login whose value is in a file, read at each login. Can be repeated
    #[arg(long, value_name = "NAME:FILE")]
    vault_auth_param_file: Vec<String>,
}

impl VaultOptions {
    pub(super) fn installation(&self, shared: &[String]) -> Result<Option<Installation>> {
        let Some(url) = self.vault_url.clone().filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let mut settings = self.settings(url)?;
        settings.shared_prefixes = shared.to_vec();
        let vault = Vault::new(settings, Owner::Installation).context("cannot use --vault-url")?;
        Ok(Some(Installation::vault(vault)))
    }

    fn settings(&self, url: String) -> Result<VaultSettings> {
        let text = |given: &Option<String>| given.clone().unwrap_or_default();
        let token_path = self.vault_client_token_path.as_deref();
        let token_path = token_path.map(|path| path.display().to_string());
        let file = self.vault_client_token_file.as_deref();
        let token = secret("--vault-client-token", &self.vault_client_token, file)?;
        let files = pairs("--vault-auth-param-file", &self.vault_auth_param_file)?;
        Ok(VaultSettings {
            url,
            path_prefix: self.vault_path_prefix.clone(),
            lookup_templates: self.vault_lookup_templates.clone(),
            shared_path: text(&self.vault_shared_path),
            shared_prefixes: Vec::new(),
            namespace: text(&self.vault_namespace),
            login_timeout: self.vault_login_timeout,
            query_timeout: self.vault_query_timeout,
            enable_kv_mount_cache: self.vault_enable_kv_mount_cache,
            disable_srv_lookup: true,
            ca_cert: read("--vault-ca-cert", self.vault_ca_cert.as_deref())?,
            client_cert: read("--vault-client-cert", self.vault_client_cert.as_deref())?,
            client_key: read("--vault-client-key", self.vault_client_key.as_deref())?,
            server_name: text(&self.vault_server_name),
            insecure_skip_verify: self.vault_insecure_skip_verify,
            client_token: token.unwrap_or_default(),
            client_token_path: token_path.unwrap_or_default(),
            auth_backend: text(&self.vault_auth_backend),
            auth_backend_max_ttl: self.vault_auth_backend_max_ttl.unwrap_or_default(),
            auth_retry_max: self.vault_retry_max,
            auth_retry_initial: self.vault_retry_initial,
            auth_params: pairs("--vault-auth-param", &self.vault_auth_param)?,
            auth_param_files: files
                .into_iter()
                .map(|(name, file)| (name, PathBuf::from(file)))
                .collect(),
        })
    }
}

/// Reads pairs of a name and a value. Errors do not show the value.
fn pairs(option: &str, given: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once([':', '='])
            .with_context(|| format!("{option} expects NAME:VALUE, but one has no `:`"))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    given.iter().map(pair).collect()
}

fn read(option: &str, file: Option<&Path>) -> Result<String> {
    let Some(file) = file else {
        return Ok(String::new());
    };
    std::fs::read_to_string(file)
        .with_context(|| format!("cannot read {option} {}", file.display()))
}
