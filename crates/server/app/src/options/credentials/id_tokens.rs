//! Id tokens of builds.

use std::time::Duration;

use airside_secrets::Rotation;

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "Id tokens of builds")]
pub(crate) struct IdTokenOptions {
    /// Issuer of id tokens for builds; verifiers fetch its keys below /.well-known [default: the
    /// external URL]
    #[arg(long, value_name = "URL")]
    oidc_issuer_url: Option<String>,

    /// Interval at which the age of the signing key is checked
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    signing_key_check_interval: Duration,

    /// Age at which the signing key is replaced; 0 never replaces it
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "168h")]
    signing_key_rotation_period: Duration,

    /// Time for which a replaced key stays published
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "24h")]
    signing_key_grace_period: Duration,
}

impl IdTokenOptions {
    pub(crate) fn issuer<'a>(&'a self, external_url: &'a str) -> &'a str {
        self.oidc_issuer_url.as_deref().unwrap_or(external_url)
    }

    pub(crate) fn rotation(&self) -> Rotation {
        let period = self.signing_key_rotation_period;
        Rotation {
            check_interval: self.signing_key_check_interval,
            period: (!period.is_zero()).then_some(period),
            grace: self.signing_key_grace_period,
        }
    }
}
