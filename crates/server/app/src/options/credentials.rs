//! Options for the installation's secret manager and for requests to it.

mod aws;
mod dummy;
mod id_tokens;
mod kubernetes;
mod vault;

use std::{path::Path, time::Duration};

use airside_secrets::{CacheOptions, Installation, Tries};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

pub(crate) use self::id_tokens::IdTokenOptions;
use self::{
    aws::{SecretsManagerOptions, SsmOptions},
    dummy::DummyOptions,
    kubernetes::KubernetesOptions,
    vault::VaultOptions,
};
use super::duration;

/// Names are those of Concourse, but for the files that secrets are read from.
#[derive(clap::Args)]
#[command(next_help_heading = "Secrets of pipelines")]
pub(crate) struct CredentialOptions {
    /// Number of attempts to get a secret when the secret manager fails
    #[arg(long, value_name = "N", default_value_t = 5)]
    secret_retry_attempts: u32,

    /// Pause after the first failed attempt; it doubles with each further one
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1s")]
    secret_retry_interval: Duration,

    /// Keep secrets in memory instead of requesting them for every use
    #[arg(long)]
    secret_cache_enabled: bool,

    /// Time for which a secret stays in memory, or its lease if that is shorter
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    secret_cache_duration: Duration,

    /// Time for which a secret that does not exist is not requested again
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    secret_cache_duration_notfound: Duration,

    /// Interval at which expired secrets are removed from memory
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    secret_cache_purge_interval: Duration,

    /// Prefix of shared secrets whose names may contain a `/`. Can be repeated. See
    /// docs/credentials/README.md
    #[arg(long, value_name = "PREFIX/", value_parser = shared_prefix)]
    secret_shared_prefix: Vec<String>,

    #[command(flatten)]
    vault: VaultOptions,

    #[command(flatten)]
    kubernetes: KubernetesOptions,

    #[command(flatten)]
    ssm: SsmOptions,

    #[command(flatten)]
    secrets_manager: SecretsManagerOptions,

    #[command(flatten)]
    dummy: DummyOptions,

    #[command(flatten)]
    pub(crate) id_tokens: IdTokenOptions,
}

impl CredentialOptions {
    /// Gives a team values for variables, as an installation's manager would.
    pub(crate) fn set_team_secrets(&mut self, team: &str, values: Map<String, Value>) {
        let of_team = |(name, value)| (format!("{team}/{name}"), value);
        self.dummy.given.extend(values.into_iter().map(of_team));
    }

    pub(crate) fn tries(&self) -> Tries {
        Tries {
            attempts: self.secret_retry_attempts.max(1),
            interval: self.secret_retry_interval,
        }
    }

    pub(crate) fn cache(&self) -> Option<CacheOptions> {
        self.secret_cache_enabled.then_some(CacheOptions {
            found: self.secret_cache_duration,
            not_found: self.secret_cache_duration_notfound,
            purge: self.secret_cache_purge_interval,
        })
    }

    /// The manager of the installation; one at most.
    pub(crate) async fn installation(&self) -> Result<Option<Installation>> {
        let shared = &self.secret_shared_prefix;
        let all = [
            ("--vault-url", self.vault.installation(shared)?),
            ("--kubernetes-…", self.kubernetes.installation().await?),
            ("--aws-ssm-region", self.ssm.installation(shared)?),
            (
                "--aws-secretsmanager-region",
                self.secrets_manager.installation(shared)?,
            ),
            ("--dummy-creds-var", self.dummy.installation()?),
        ];
        let mut given = all
            .into_iter()
            .filter_map(|(option, installation)| Some((option, installation?)));
        match (given.next(), given.next()) {
            (Some((one, _)), Some((other, _))) => bail!(
                "{one} and {other} are both given, and an installation has one secret manager; leave one \
                 of them out"
            ),
            (first, _) => Ok(first.map(|(_, installation)| installation)),
        }
    }
}

/// Reads a prefix. Without the slash it would allow more directories than the one that is meant.
fn shared_prefix(text: &str) -> Result<String, &'static str> {
    match text.strip_suffix('/') {
        Some(folder) if !folder.is_empty() && !folder.starts_with('/') => Ok(text.to_owned()),
        _ => Err("it must end with a `/` and not begin with one, such as `common/`"),
    }
}

/// Returns a secret that is given itself or in a file, without the line end.
fn secret(option: &str, given: &Option<String>, file: Option<&Path>) -> Result<Option<String>> {
    match (given, file) {
        (Some(_), Some(_)) => bail!("{option} and {option}-file are both given; choose one"),
        (Some(text), None) => Ok(Some(text.clone())),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {option}-file {}", file.display()))?;
            Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
        }
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
