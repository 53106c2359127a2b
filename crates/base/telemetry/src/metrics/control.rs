//! Metrics of pipelines, jobs and builds as objects of clusters.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{Metrics, counter, family, gauge};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControlKindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JudgedLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControlTeamLabels {
    team: String,
}

type Seconds = Gauge<f64, AtomicU64>;

pub(super) struct ControlMetrics {
    lag: Family<ControlTeamLabels, Seconds>,
    writes: Family<ControlKindLabels, Counter>,
    judged: Family<JudgedLabels, Counter>,
    orphaned: Counter,
    rights_missing: Family<ControlTeamLabels, Gauge>,
    file_rejected: Gauge,
}

impl ControlMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            lag: family(
                registry,
                "control_lag_seconds",
                "Time for which a change waits to be shown by an object of a cluster, by team",
            ),
            writes: family(
                registry,
                "control_writes",
                "Writes of objects of clusters, by kind",
            ),
            judged: family(
                registry,
                "control_judged",
                "Pipelines that a cluster judged, by result",
            ),
            orphaned: counter(
                registry,
                "control_orphaned",
                "Pipelines that went on without their object, whose namespace or definition was gone",
            ),
            rights_missing: family(
                registry,
                "control_rights_missing",
                "Rights that the server lacks in the namespace of a team, by team",
            ),
            file_rejected: gauge(
                registry,
                "control_file_rejected",
                "1 while the control file has a mistake and the one of before is used",
            ),
        }
    }
}

impl Metrics {
    /// Records for how long the oldest change of a team has waited to be shown.
    pub fn control_lag(&self, team: &str, lag: Duration) {
        let labels = ControlTeamLabels {
            team: team.to_owned(),
        };
        let lags = &self.0.control.lag;
        lags.get_or_create(&labels).set(lag.as_secs_f64());
    }

    /// Counts a write of an object of this kind.
    pub fn control_written(&self, kind: &'static str) {
        let writes = &self.0.control.writes;
        writes.get_or_create(&ControlKindLabels { kind }).inc();
    }

    /// Counts a pipeline that a cluster judged.
    pub fn control_judged(&self, result: &'static str) {
        let judged = &self.0.control.judged;
        judged.get_or_create(&JudgedLabels { result }).inc();
    }

    /// Counts a pipeline that goes on without its object.
    pub fn control_orphaned(&self) {
        self.0.control.orphaned.inc();
    }

    /// Records the number of rights that the server lacks for a team.
    pub fn control_rights_missing(&self, team: &str, number: usize) {
        let labels = ControlTeamLabels {
            team: team.to_owned(),
        };
        let missing = &self.0.control.rights_missing;
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        missing.get_or_create(&labels).set(number);
    }

    /// Records whether the control file was refused, so that the one of before stays in effect.
    pub fn control_file_rejected(&self, rejected: bool) {
        self.0.control.file_rejected.set(rejected.into());
    }
}
