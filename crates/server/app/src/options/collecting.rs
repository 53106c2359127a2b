//! Options about what is kept, and about the disk.

use std::time::Duration;

use airside_gc::{Keep, LogRetention};
use airside_volumes::{Percent, Watermarks};
use anyhow::{Result, bail};

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "What is kept")]
pub(crate) struct CollectingOptions {
    /// Keep the logs of so many builds of jobs that do not say themselves; 0: of all
    #[arg(long, value_name = "N", default_value_t = 0)]
    default_build_logs_to_retain: u32,

    /// The most that a job can ask for; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_build_logs_to_retain: u32,

    /// Keep logs for so many days, of jobs that do not say themselves; 0: for good
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    default_days_to_retain_build_logs: u32,

    /// The most that a job can ask for; 0: no limit
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    max_days_to_retain_build_logs: u32,

    /// Of each job, list so many builds whose logs are gone; 0: all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    reaped_builds_to_retain: u32,

    /// Remove images on this machine that no step used for so long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "168h")]
    keep_unused_images: Duration,

    /// Make room when so much of the data folder's disk is used, in percent; uploads stop there, too
    #[arg(long, value_name = "PERCENT", default_value_t = 95)]
    disk_high_watermark: u8,

    /// Make room until no more than this is used, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 90)]
    disk_low_watermark: u8,
}

impl CollectingOptions {
    pub(crate) fn keep(&self) -> Keep {
        Keep {
            logs: LogRetention {
                default_builds: self.default_build_logs_to_retain,
                max_builds: self.max_build_logs_to_retain,
                default_days: self.default_days_to_retain_build_logs,
                max_days: self.max_days_to_retain_build_logs,
            },
            reaped_builds: Some(self.reaped_builds_to_retain).filter(|number| *number != 0),
            images: self.keep_unused_images,
        }
    }

    pub(crate) fn marks(&self) -> Result<Watermarks> {
        let (high, low) = (self.disk_high_watermark, self.disk_low_watermark);
        match (Percent::new(high), Percent::new(low)) {
            (Some(high), Some(low)) if low <= high => Ok(Watermarks { high, low }),
            _ => bail!(
                "--disk-high-watermark {high} and --disk-low-watermark {low}: both are percents from 1 to \
                 100, and the low one is not above the high one"
            ),
        }
    }
}
