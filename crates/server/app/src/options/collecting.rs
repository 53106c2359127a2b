//! Options about what is kept, and about the disk.

use std::time::Duration;

use airside_gc::{Keep, LogRetention};
use airside_volumes::{Percent, Watermarks};
use anyhow::{Result, bail};

use super::duration;

#[derive(clap::Args)]
#[command(next_help_heading = "Retention and disk space")]
pub(crate) struct CollectingOptions {
    /// Default number of build logs to keep per job; 0 keeps all
    #[arg(long, value_name = "N", default_value_t = 0)]
    default_build_logs_to_retain: u32,

    /// Maximum number of build logs that a job can ask to keep; 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_build_logs_to_retain: u32,

    /// Default number of days to keep build logs; 0 keeps them forever
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    default_days_to_retain_build_logs: u32,

    /// Maximum number of days that a job can ask to keep its build logs; 0 means no limit
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    max_days_to_retain_build_logs: u32,

    /// Number of builds to keep listed per job after their logs were removed; 0 keeps all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    reaped_builds_to_retain: u32,

    /// Time after which images that no step uses are removed from this machine
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "168h")]
    keep_unused_images: Duration,

    /// Disk usage, in percent of the data directory's file system, at which space is freed and
    /// uploads are refused
    #[arg(long, value_name = "PERCENT", default_value_t = 95)]
    disk_high_watermark: u8,

    /// Disk usage, in percent, down to which space is freed
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
