//! Retention of build logs, by the rules that Concourse has. No I/O and no clock.
//!
//! A log stays if it is one of the job's newest `builds`, or younger than `days`. Of those newest,
//! `minimum_succeeded_builds` are kept for builds that succeeded, however old these are: a job that
//! fails all week still shows how it last succeeded.

use airside_config::BuildLogRetention;
use airside_model::{BuildId, BuildStatus};
use airside_store::{Logged, Micros};

const DAY: i64 = 24 * 3600 * 1_000_000;

/// The server's rules for logs of all jobs; zero means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRetention {
    pub default_builds: u32,
    pub max_builds: u32,
    pub default_days: u32,
    pub max_days: u32,
}

/// The rules for one job; zero means no limit, and without any limit all logs stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    pub builds: u32,
    pub days: u32,
    pub succeeded: u32,
}

impl LogRetention {
    /// Returns the rules for a job with this setting: the default where it has none, never more
    /// than the maximum.
    pub fn for_job(&self, job: Option<&BuildLogRetention>) -> Retention {
        let wanted = job.cloned().unwrap_or_default();
        let count = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        let builds = limit(count(wanted.builds), self.default_builds, self.max_builds);
        let days = limit(count(wanted.days), self.default_days, self.max_days);
        Retention {
            builds,
            days,
            // More than are kept at all cannot be kept.
            succeeded: count(wanted.minimum_succeeded_builds).min(builds),
        }
    }
}

fn limit(wanted: u32, default: u32, most: u32) -> u32 {
    let wanted = if wanted == 0 { default } else { wanted };
    match (wanted, most) {
        (wanted, 0) => wanted,
        (0, most) => most,
        (wanted, most) => wanted.min(most),
    }
}

impl Retention {
    pub fn is_limit(&self) -> bool {
        self.builds != 0 || self.days != 0
    }
}

/// Sorts builds out, the newest first.
pub struct Sieve {
    retention: Retention,
    now: Micros,
    /// Builds that could still go if too many succeeded ones turn up.
    kept: Vec<BuildId>,
    succeeded: u32,
    garbage: Vec<BuildId>,
}

impl Sieve {
    pub fn new(retention: Retention, now: Micros) -> Self {
        Self {
            retention,
            now,
            kept: Vec::new(),
            succeeded: 0,
            garbage: Vec::new(),
        }
    }

    /// The next older build.
    pub fn take(&mut self, build: &Logged) {
        let Retention {
            builds,
            days,
            succeeded,
        } = self.retention;
        if !self.retention.is_limit() {
            return;
        }
        if builds != 0 && build.status == BuildStatus::Succeeded && self.succeeded < succeeded {
            self.succeeded += 1;
            return;
        }
        let counts = builds != 0 && self.retained() < builds as usize;
        let young = days != 0 && build.ended_at.0 + i64::from(days) * DAY > self.now.0;
        if counts || young {
            self.kept.push(build.build);
        } else {
            self.garbage.push(build.build);
        }
    }

    fn retained(&self) -> usize {
        self.kept.len() + self.succeeded as usize
    }

    /// Returns the builds whose logs go.
    pub fn garbage(mut self) -> Vec<BuildId> {
        let most = self.retention.builds as usize;
        if most != 0 {
            let surplus = self.retained().saturating_sub(most);
            let rest = self.kept.len().saturating_sub(surplus);
            self.garbage.extend(self.kept.drain(rest..));
        }
        self.garbage
    }
}

#[cfg(test)]
mod tests;
