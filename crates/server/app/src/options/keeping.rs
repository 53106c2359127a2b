//! Options about people in containers: how long containers stay for them, and how long they may idle.

use std::{path::PathBuf, time::Duration};

use airside_orchestrator::Keeping;

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "People in builds")]
pub(crate) struct KeepingOptions {
    /// How long containers of a job's latest build stay for `fly intercept` if it did not succeed [default:
    /// 120h here, 1h in clusters]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    keep_failed: Option<Duration>,

    /// The same for builds without a job (`fly execute`) [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    keep_one_off: Option<Duration>,

    /// At most so many containers stay on one worker after their step; the oldest go first
    #[arg(long, value_name = "N", default_value_t = Keeping::default().most)]
    keep_most: usize,

    /// End a `fly intercept` in which nobody has typed for so long [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    intercept_idle_timeout: Option<Duration>,

    /// Folder with the programs that `fly sync` downloads, named fly-<platform>-<arch>
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
            most: self.keep_most,
        }
    }

    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.intercept_idle_timeout.filter(|limit| !limit.is_zero())
    }
}
