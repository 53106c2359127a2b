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
#[command(next_help_heading = "Credentials: Vault")]
pub(crate) struct VaultOptions {
    /// Vault's URL; makes it the installation's secret manager. See docs/credentials/vault.md
    #[arg(long, value_name = "URL")]
    vault_url: Option<String>,

    /// The path that all secrets are under
    #[arg(long, value_name = "PATH", default_value = "/concourse")]
    vault_path_prefix: String,

    /// Where under it a variable is looked up; may be given several times, the first that has it counts
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_values = ["/{{.Team}}/{{.Pipeline}}/{{.Secret}}", "/{{.Team}}/{{.Secret}}"]
    )]
    vault_lookup_templates: Vec<String>,

    /// A path under the prefix with secrets for all teams
    #[arg(long, value_name = "PATH")]
    vault_shared_path: Option<String>,

    /// The namespace, in Vault Enterprise
    #[arg(long, value_name = "NAMESPACE")]
    vault_namespace: Option<String>,

    /// How long a login may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    vault_login_timeout: Duration,

    /// How long a question may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    vault_query_timeout: Duration,

    /// Remember which version of the key-value engine is mounted where, and ask once
    #[arg(long)]
    vault_enable_kv_mount_cache: bool,

    /// File with CA certificates to trust, beside the machine's
    #[arg(long, value_name = "FILE")]
    vault_ca_cert: Option<PathBuf>,

    /// File with the certificate that this server shows to Vault
    #[arg(long, value_name = "FILE")]
    vault_client_cert: Option<PathBuf>,

    /// File with its private key
    #[arg(long, value_name = "FILE")]
    vault_client_key: Option<PathBuf>,

    /// The name that Vault's certificate is for, if it is not the URL's host
    #[arg(long, value_name = "NAME")]
    vault_server_name: Option<String>,

    /// Believe anybody to be Vault
    #[arg(long)]
    vault_insecure_skip_verify: bool,

    /// A token to ask with; better in a file, as others can see arguments
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    vault_client_token: Option<String>,

    /// File with such a token, read once
    #[arg(long, value_name = "FILE")]
    vault_client_token_file: Option<PathBuf>,

    /// File with such a token, read again whenever it has ended: a Vault agent's sink
    #[arg(long, value_name = "FILE")]
    vault_client_token_path: Option<PathBuf>,

    /// The way to log in: approle, kubernetes, cert, ldap, userpass, or another path under auth/
    #[arg(long, value_name = "BACKEND")]
    vault_auth_backend: Option<String>,

    /// Log in anew after so long, even if the token could be renewed [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    vault_auth_backend_max_ttl: Option<Duration>,

    /// The longest pause between two logins after refused ones
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    vault_retry_max: Duration,

    /// The pause after the first refused login; twice as long each time
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s")]
    vault_retry_initial: Duration,

    /// What to say when logging in, such as role_id:ID; may be given several times
    #[arg(long, value_name = "NAME:VALUE", hide_env_values = true)]
    vault_auth_param: Vec<String>,

    /// The same with a file that holds the value, read at each login; may be given several times
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

/// What is wrong is told without the value.
fn pairs(option: &str, given: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once([':', '='])
            .with_context(|| format!("{option} is written NAME:VALUE, and one has no `:`"))?;
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
