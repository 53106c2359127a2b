//! Decides which resources are checked periodically, and when.
//!
//! Only resources that a job waits for are: triggers always; other inputs, and resources that are
//! only put, until their first check succeeded; inputs that have no version, and pinned ones whose
//! version no check has found. All others are checked when a build needs them ([`crate::pass`]), a
//! webhook calls, or a person asks.

use std::time::Duration;

use crate::Moment;
use crate::graph::{Part, Resource};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    Never,
    Every(Duration),
}

/// A resource's configuration of its checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckRule {
    /// `check_every`; `None` leaves it to the installation.
    pub every: Option<Interval>,
    pub has_webhook: bool,
}

/// The installation's intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckPolicy {
    pub resources: Duration,
    pub resources_with_webhook: Duration,
    pub resource_types: Duration,
    /// A check that fails again and again waits twice as long each time, up to this; never less
    /// than its interval.
    pub longest_backoff: Duration,
}

impl Default for CheckPolicy {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            resources: minute,
            resources_with_webhook: minute,
            resource_types: minute,
            longest_backoff: 10 * minute,
        }
    }
}

impl CheckPolicy {
    pub fn of_resource(&self, rule: CheckRule) -> Interval {
        rule.every.unwrap_or(Interval::Every(if rule.has_webhook {
            self.resources_with_webhook
        } else {
            self.resources
        }))
    }

    pub fn of_resource_type(&self, every: Option<Interval>) -> Interval {
        every.unwrap_or(Interval::Every(self.resource_types))
    }

    /// Returns the time from the end of a check to the next, after this number of failures in a
    /// row.
    pub fn wait(&self, interval: Duration, failures: u32) -> Duration {
        if failures == 0 {
            return interval;
        }
        let doubled = interval.saturating_mul(1 << (failures - 1).min(20));
        doubled.min(self.longest_backoff).max(interval)
    }
}

/// Known facts of a resource's checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckFacts {
    /// The end of the last check; `None` if there was none since its configuration changed.
    pub last_end: Option<Moment>,
    /// Number of failures since the last success.
    pub failures: u32,
    pub has_versions: bool,
    /// True if a version that fits the resource's pin is there. Without meaning if there is no pin.
    pub has_pinned_version: bool,
}

/// The reason why a resource is checked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Trigger,
    NeverChecked,
    LastCheckFailed,
    NoVersions,
    PinNotSeen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    At(Moment, Need),
    Not(NotDue),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDue {
    PipelinePaused,
    /// `check_every: never`.
    Never,
    /// The resource is checked on request only.
    NotNeeded,
}

/// Returns the time at which a resource is to be checked next: `now` for one that never was.
pub fn due(
    resource: &Resource,
    facts: CheckFacts,
    policy: &CheckPolicy,
    pipeline_is_paused: bool,
    now: Moment,
) -> Due {
    if pipeline_is_paused {
        return Due::Not(NotDue::PipelinePaused);
    }
    let Interval::Every(interval) = policy.of_resource(resource.check) else {
        return Due::Not(NotDue::Never);
    };
    let Some(need) = need(resource, facts) else {
        return Due::Not(NotDue::NotNeeded);
    };
    let at = facts.last_end.map_or(now, |end| {
        // A clock that was set back must not silence a resource: no wait is longer than its
        // interval.
        end.min(now).after(policy.wait(interval, facts.failures))
    });
    Due::At(at, need)
}

fn need(resource: &Resource, facts: CheckFacts) -> Option<Need> {
    let is_input = resource.part != Part::NoInput;
    if resource.part == Part::Trigger {
        Some(Need::Trigger)
    } else if facts.last_end.is_none() {
        Some(Need::NeverChecked)
    } else if facts.failures > 0 {
        Some(Need::LastCheckFailed)
    } else if is_input && !facts.has_versions {
        Some(Need::NoVersions)
    } else if is_input && resource.pin.is_some() && !facts.has_pinned_version {
        Some(Need::PinNotSeen)
    } else {
        None
    }
}
