//! Options about checks: how often, how long, how many.

use std::time::Duration;

use airside_schedule::checks::CheckPolicy;

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct CheckingOptions {
    /// Default interval between two checks of a resource, for resources without `check_every`
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    resource_checking_interval: Duration,

    /// Default interval between two checks of a resource that has a webhook token [default: the
    /// interval of other resources]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    resource_with_webhook_checking_interval: Option<Duration>,

    /// Default timeout of a check, for resources without `check_timeout`
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1h")]
    global_resource_check_timeout: Duration,

    /// Maximum number of periodic checks started per second; 0 means no limit [default: no limit]
    #[arg(long, value_name = "N")]
    max_checks_per_second: Option<f64>,
}

impl CheckingOptions {
    pub(crate) fn policy(&self) -> CheckPolicy {
        let resources = self.resource_checking_interval;
        CheckPolicy {
            resources,
            resources_with_webhook: self
                .resource_with_webhook_checking_interval
                .unwrap_or(resources),
            ..CheckPolicy::default()
        }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.global_resource_check_timeout
    }

    /// Zero and less mean no limit, as with Concourse.
    pub(crate) fn max_per_second(&self) -> Option<f64> {
        self.max_checks_per_second.filter(|most| *most > 0.0)
    }
}
