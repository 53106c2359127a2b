//! Options for `fly intercept`: how long containers are kept for it, and how long a session may
//! idle.

use std::{path::PathBuf, time::Duration};

use airside_orchestrator::Keeping;

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "Intercepting builds")]
pub(crate) struct KeepingOptions {
    /// Time for which containers of a job's latest build are kept for `fly intercept` if the build
    /// did not succeed [default: 120h on this machine, 1h in clusters]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    keep_failed: Option<Duration>,

    /// Time for which containers of `fly execute` builds are kept for `fly intercept` [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    keep_one_off: Option<Duration>,

    /// Maximum number of containers kept per worker after their step ended; the oldest are removed
    /// first
    #[arg(long, value_name = "N", alias = "keep-most", default_value_t = Keeping::default().most)]
    max_kept_containers: usize,

    /// Time without input after which a `fly intercept` session ends [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    intercept_idle_timeout: Option<Duration>,

    /// Directory with the programs that `fly sync` downloads, named fly-<platform>-<arch>
    #[arg(long, value_name = "DIR")]
    pub(crate) cli_dir: Option<PathBuf>,
}

impl KeepingOptions {
    pub(crate) fn keeping(&self) -> Keeping {
        let usual = Keeping::default();
        Keeping {
            failed: self.keep_failed.unwrap_or(usual.failed),
            failed_elsewhere: self.keep_failed.unwrap_or(usual.failed_elsewhere),
            one_off: self.keep_one_off.unwrap_or(usual.one_off),
            most: self.max_kept_containers,
        }
    }

    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.intercept_idle_timeout.filter(|limit| !limit.is_zero())
    }
}
