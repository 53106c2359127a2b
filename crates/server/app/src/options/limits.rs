//! Options about how much teams and steps may use.

use airside_model::{Bytes, Quotas, TeamQuota};
use airside_orchestrator::OutputBounds;

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
    /// Keep so much of what one step prints; the rest is dropped, the log says so, and the step goes on
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = bytes)]
    max_step_output: u64,

    /// Keep so much of what all steps of a build print
    #[arg(long, value_name = "BYTES", default_value = "4GiB", value_parser = bytes)]
    max_build_output: u64,

    /// Limits of what each team may use: `volumes=50GiB`, `logs`, `registry`, `pipelines=100`, `resources`, `versions`
    /// (of each resource), `containers`; for one team only: `TEAM/QUOTA=LIMIT`, or `none` [default: no limit]
    #[arg(
        id = "team-quota",
        long,
        value_name = "[TEAM/]QUOTA=LIMIT",
        value_delimiter = ','
    )]
    team_quota: Vec<TeamQuota>,
}

impl LimitOptions {
    pub(crate) fn output(&self) -> OutputBounds {
        OutputBounds {
            step: self.max_step_output,
            build: self.max_build_output,
        }
    }

    pub(crate) fn quotas(&self) -> Quotas {
        self.team_quota.iter().cloned().collect()
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    Ok(text.parse::<Bytes>()?.0)
}
