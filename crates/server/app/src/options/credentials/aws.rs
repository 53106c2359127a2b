//! AWS's parameter store or Secrets Manager as the installation's secret manager.

use std::path::PathBuf;

use airside_secret_managers::{
    AwsSettings, Owner, SecretsManager, SecretsManagerSettings, Ssm, SsmSettings,
};
use airside_secrets::Installation;
use anyhow::{Context, Result};

use super::secret;

#[derive(clap::Args)]
#[command(next_help_heading = "Secrets in AWS SSM parameter store")]
pub(crate) struct SsmOptions {
    /// AWS region whose SSM parameter store has the secrets; makes it the installation's secret
    /// manager. See docs/credentials/aws-ssm.md
    #[arg(long, value_name = "REGION")]
    aws_ssm_region: Option<String>,

    /// Access key id [default: this machine's AWS identity]
    #[arg(long, value_name = "ID")]
    aws_ssm_access_key: Option<String>,

    /// Secret access key; visible to other users of this machine, so prefer the file
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    aws_ssm_secret_key: Option<String>,

    /// File with the secret access key
    #[arg(long, value_name = "FILE")]
    aws_ssm_secret_key_file: Option<PathBuf>,

    /// Session token of a temporary access key; visible to other users of this machine, so prefer
    /// the file
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    aws_ssm_session_token: Option<String>,

    /// File with the session token
    #[arg(long, value_name = "FILE")]
    aws_ssm_session_token_file: Option<PathBuf>,

    /// Name of a pipeline's secret, as a template
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "/concourse/{{.Team}}/{{.Pipeline}}/{{.Secret}}"
    )]
    aws_ssm_pipeline_secret_template: String,

    /// Name of a team's secret, as a template
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "/concourse/{{.Team}}/{{.Secret}}"
    )]
    aws_ssm_team_secret_template: String,

    /// Path of the secrets that all teams share
    #[arg(long, value_name = "PATH")]
    aws_ssm_shared_path: Option<String>,
}

impl SsmOptions {
    pub(super) fn installation(&self, shared: &[String]) -> Result<Option<Installation>> {
        let Some(region) = &self.aws_ssm_region else {
            return Ok(None);
        };
        let settings = SsmSettings {
            aws: AwsSettings {
                access_key: self.aws_ssm_access_key.clone().unwrap_or_default(),
                secret_key: secret(
                    "--aws-ssm-secret-key",
                    &self.aws_ssm_secret_key,
                    self.aws_ssm_secret_key_file.as_deref(),
                )?
                .unwrap_or_default(),
                session_token: secret(
                    "--aws-ssm-session-token",
                    &self.aws_ssm_session_token,
                    self.aws_ssm_session_token_file.as_deref(),
                )?
                .unwrap_or_default(),
                region: region.clone(),
                endpoint: None,
            },
            pipeline_secret_template: self.aws_ssm_pipeline_secret_template.clone(),
            team_secret_template: self.aws_ssm_team_secret_template.clone(),
            shared_path: self.aws_ssm_shared_path.clone().unwrap_or_default(),
            shared_prefixes: shared.to_vec(),
        };
        let ssm = Ssm::new(settings, Owner::Installation).context("cannot use --aws-ssm-region")?;
        Ok(Some(Installation::ssm(ssm)))
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Secrets in AWS Secrets Manager")]
pub(crate) struct SecretsManagerOptions {
    /// AWS region whose Secrets Manager has the secrets; makes it the installation's secret
    /// manager. See docs/credentials/aws-secrets-manager.md
    #[arg(long, value_name = "REGION")]
    aws_secretsmanager_region: Option<String>,

    /// Access key id [default: this machine's AWS identity]
    #[arg(long, value_name = "ID")]
    aws_secretsmanager_access_key: Option<String>,

    /// Secret access key; visible to other users of this machine, so prefer the file
    #[arg(long, value_name = "SECRET", hide_env_values = true)]
    aws_secretsmanager_secret_key: Option<String>,

    /// File with the secret access key
    #[arg(long, value_name = "FILE")]
    aws_secretsmanager_secret_key_file: Option<PathBuf>,

    /// Session token of a temporary access key; visible to other users of this machine, so prefer
    /// the file
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    aws_secretsmanager_session_token: Option<String>,

    /// File with the session token
    #[arg(long, value_name = "FILE")]
    aws_secretsmanager_session_token_file: Option<PathBuf>,

    /// Name of a pipeline's secret, as a template
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "/concourse/{{.Team}}/{{.Pipeline}}/{{.Secret}}"
    )]
    aws_secretsmanager_pipeline_secret_template: String,

    /// Name of a team's secret, as a template
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "/concourse/{{.Team}}/{{.Secret}}"
    )]
    aws_secretsmanager_team_secret_template: String,

    /// Name of a secret that all teams share, as a template
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "/concourse/{{.Secret}}"
    )]
    aws_secretsmanager_shared_secret_template: String,
}

impl SecretsManagerOptions {
    pub(super) fn installation(&self, shared: &[String]) -> Result<Option<Installation>> {
        let Some(region) = &self.aws_secretsmanager_region else {
            return Ok(None);
        };
        let settings = SecretsManagerSettings {
            aws: AwsSettings {
                access_key: self
                    .aws_secretsmanager_access_key
                    .clone()
                    .unwrap_or_default(),
                secret_key: secret(
                    "--aws-secretsmanager-secret-key",
                    &self.aws_secretsmanager_secret_key,
                    self.aws_secretsmanager_secret_key_file.as_deref(),
                )?
                .unwrap_or_default(),
                session_token: secret(
                    "--aws-secretsmanager-session-token",
                    &self.aws_secretsmanager_session_token,
                    self.aws_secretsmanager_session_token_file.as_deref(),
                )?
                .unwrap_or_default(),
                region: region.clone(),
                endpoint: None,
            },
            pipeline_secret_template: self.aws_secretsmanager_pipeline_secret_template.clone(),
            team_secret_template: self.aws_secretsmanager_team_secret_template.clone(),
            shared_secret_template: self.aws_secretsmanager_shared_secret_template.clone(),
            shared_prefixes: shared.to_vec(),
        };
        let manager = SecretsManager::new(settings, Owner::Installation);
        let manager = manager.context("cannot use --aws-secretsmanager-region")?;
        Ok(Some(Installation::secrets_manager(manager)))
    }
}
