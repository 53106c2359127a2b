//! Options about how much teams and steps may use.

use airside_model::{Bytes, Quotas, TeamQuota};
use airside_orchestrator::OutputBounds;

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
    /// Maximum output of one step that is kept; the rest is dropped with a note in the log, and the
    /// step goes on
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = bytes)]
    max_step_output: u64,

    /// Maximum output of all steps of one build that is kept
    #[arg(long, value_name = "BYTES", default_value = "4GiB", value_parser = bytes)]
    max_build_output: u64,

    /// Maximum of what each team may use, for example volumes=50GiB,pipelines=100. Can be repeated
    /// [default: no limit]
    ///
    /// Quotas are `volumes`, `logs` and `registry` in bytes, and `pipelines`, `resources`,
    /// `versions` (per resource) and `containers` as numbers. TEAM/QUOTA=LIMIT sets the quota of
    /// one team; the limit `none` lifts it.
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
