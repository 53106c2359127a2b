//! Id tokens of builds.

use std::time::Duration;

use airside_secrets::Rotation;

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "Id tokens")]
pub(crate) struct IdTokenOptions {
    /// Who id tokens say that they are from; whoever checks one fetches /.well-known there [default:
    /// the external URL]
    #[arg(long, value_name = "URL")]
    oidc_issuer_url: Option<String>,

    /// How often the keys that sign id tokens are looked after
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m")]
    signing_key_check_interval: Duration,

    /// A key older than this is replaced; 0: never
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "168h")]
    signing_key_rotation_period: Duration,

    /// For how long a key is published after a new one has replaced it
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h")]
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
