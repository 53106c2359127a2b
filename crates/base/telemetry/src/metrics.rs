//! The metrics of the server.
//!
//! One struct holds every metric, so that names live in one place and nothing is counted by text
//! alone. A metric that Concourse has keeps Concourse's name, so that dashboards go on working.
//! Recording never blocks and never fails.

mod control;
mod live;

use std::{fmt::Write, sync::Arc, time::Duration};

use airside_model::{BuildStatus, StepKind};
use control::ControlMetrics;
use live::LiveMetrics;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

/// Labels of a finished build.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    team: String,
    pipeline: String,
    job: String,
    status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    kind: &'static str,
    worker: String,
}

/// One worker at the moment of a scrape.
pub struct WorkerGauge<'a> {
    pub name: &'a str,
    pub state: &'a str,
    pub containers: i64,
    /// Number of features that the worker should have and lacks.
    pub lacks: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkerLabels {
    worker: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TypeLabels {
    r#type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaskLabels {
    task: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QuotaLabels {
    team: String,
    quota: &'static str,
}

/// Statuses of builds that have ended.
const ENDS: [BuildStatus; 4] = [
    BuildStatus::Succeeded,
    BuildStatus::Failed,
    BuildStatus::Errored,
    BuildStatus::Aborted,
];

/// A handle on the metrics; clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    builds_started: Counter,
    builds_running: Gauge,
    builds_ended: [(BuildStatus, Counter); 4],
    builds_all_ended: Counter,
    checks_started: Counter,
    checks_running: Gauge,
    checks_ended: [(BuildStatus, Counter); 4],
    checks_all_ended: Counter,
    native_checks: Family<TypeLabels, Histogram, fn() -> Histogram>,
    builds_finished: Family<BuildLabels, Counter>,
    build_duration: Histogram,
    steps_placed: Family<StepLabels, Counter>,
    steps_lost: Family<StepLabels, Counter>,
    responses: Family<ResponseLabels, Histogram, fn() -> Histogram>,
    workers: Family<StateLabels, Gauge>,
    worker_containers: Family<WorkerLabels, Gauge>,
    worker_lacks: Family<WorkerLabels, Gauge>,
    targets_rejected: Gauge,
    control: ControlMetrics,
    live: LiveMetrics,
    collected: Family<KindLabels, Counter>,
    disk_bytes: Gauge,
    disk_free_bytes: Gauge,
    panics: Family<TaskLabels, Counter>,
    quota_used: Family<QuotaLabels, Gauge>,
    quota_limit: Family<QuotaLabels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("concourse");
        let inner = Inner {
            builds_started: counter(&mut registry, "builds_started", "Builds started"),
            builds_running: gauge(&mut registry, "builds_running", "Builds under way"),
            builds_ended: ENDS.map(|status| {
                let (name, help) = (format!("builds_{status}"), format!("Builds {status}"));
                (status, counter(&mut registry, name, help))
            }),
            checks_started: counter(&mut registry, "builds_check_started", "Checks started"),
            checks_running: gauge(&mut registry, "builds_check_running", "Checks under way"),
            checks_ended: ENDS.map(|status| {
                let name = format!("builds_check_{status}");
                (
                    status,
                    counter(&mut registry, name, format!("Checks {status}")),
                )
            }),
            checks_all_ended: counter(&mut registry, "builds_check_finished", "Checks finished"),
            native_checks: {
                // Narrow ones: what is common takes a millisecond, and a clone seconds.
                let make: fn() -> Histogram =
                    || Histogram::new(exponential_buckets(0.0005, 1.5, 28));
                let family = Family::new_with_constructor(make);
                let (name, help) = ("native_checks_duration_seconds", "Checks by checkers");
                registry.register(name, help, family.clone());
                family
            },
            builds_all_ended: counter(&mut registry, "builds_finished", "Builds finished"),
            builds_finished: family(&mut registry, "builds_finished_by_job", "Builds finished"),
            build_duration: {
                let histogram = Histogram::new(exponential_buckets(0.1, 2.0, 18));
                let name = "builds_duration_seconds";
                registry.register(name, "From a build's start to its end", histogram.clone());
                histogram
            },
            steps_placed: family(&mut registry, "steps_placed", "Steps given to a worker"),
            steps_lost: family(&mut registry, "steps_lost", "Steps that a worker lost"),
            responses: {
                let make: fn() -> Histogram =
                    || Histogram::new(exponential_buckets(0.001, 2.0, 16));
                let family = Family::new_with_constructor(make);
                let name = "http_responses_duration_seconds";
                registry.register(name, "From an API request to its response", family.clone());
                family
            },
            workers: family(&mut registry, "workers_registered", "Workers by state"),
            worker_containers: family(&mut registry, "workers_containers", "Containers by worker"),
            worker_lacks: family(
                &mut registry,
                "workers_lacks",
                "Parts of a worker's setup that it lacks, by worker",
            ),
            targets_rejected: gauge(
                &mut registry,
                "targets_rejected",
                "1 while the targets file has a mistake and the targets of before are used",
            ),
            control: ControlMetrics::new(&mut registry),
            live: LiveMetrics::new(&mut registry),
            collected: family(
                &mut registry,
                "gc_collected",
                "Objects that the collector removed, by kind",
            ),
            disk_bytes: gauge(
                &mut registry,
                "disk_bytes",
                "Size of the data folder's disk",
            ),
            disk_free_bytes: gauge(
                &mut registry,
                "disk_free_bytes",
                "Free space of the data folder's disk",
            ),
            panics: family(
                &mut registry,
                "panics",
                "Panics by the task that they ended; each is a fault in Airside",
            ),
            quota_used: family(
                &mut registry,
                "team_quota_used",
                "Use of each quota, by team",
            ),
            quota_limit: family(&mut registry, "team_quota_limit", "The quotas of teams"),
            registry,
        };
        Self(Arc::new(inner))
    }
}

impl Metrics {
    pub fn build_started(&self) {
        self.0.builds_started.inc();
        self.0.builds_running.inc();
    }

    /// Counts the end of a build that [`Metrics::build_started`] counted.
    pub fn build_finished(
        &self,
        [team, pipeline, job]: [&str; 3],
        status: BuildStatus,
        took: Duration,
    ) {
        let inner = &self.0;
        inner.builds_running.dec();
        inner.builds_all_ended.inc();
        if let Some((_, counter)) = inner
            .builds_ended
            .iter()
            .find(|(known, _)| *known == status)
        {
            counter.inc();
        }
        inner.build_duration.observe(took.as_secs_f64());
        let labels = BuildLabels {
            team: team.to_owned(),
            pipeline: pipeline.to_owned(),
            job: job.to_owned(),
            status: status.to_string(),
        };
        inner.builds_finished.get_or_create(&labels).inc();
    }

    /// A check began, whether it is a build or not.
    pub fn check_started(&self) {
        self.0.checks_started.inc();
        self.0.checks_running.inc();
    }

    /// Counts the end of a check that [`Metrics::check_started`] counted.
    pub fn check_ended(&self, status: BuildStatus) {
        let inner = &self.0;
        inner.checks_running.dec();
        inner.checks_all_ended.inc();
        let ended = inner
            .checks_ended
            .iter()
            .find(|(known, _)| *known == status);
        if let Some((_, counter)) = ended {
            counter.inc();
        }
    }

    /// Records the time of a check by a check process. `type_` is a native type, never a name from
    /// a tenant.
    pub fn native_check_took(&self, type_: &str, took: Duration) {
        let labels = TypeLabels {
            r#type: type_.to_owned(),
        };
        self.0
            .native_checks
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// A check that had begun goes on as a build, which is counted by itself.
    pub fn check_became_build(&self) {
        self.0.checks_running.dec();
        self.0.checks_all_ended.inc();
    }

    pub fn step_placed(&self, kind: StepKind, worker: &str) {
        self.0
            .steps_placed
            .get_or_create(&StepLabels::of(kind, worker))
            .inc();
    }

    pub fn step_lost(&self, kind: StepKind, worker: &str) {
        self.0
            .steps_lost
            .get_or_create(&StepLabels::of(kind, worker))
            .inc();
    }

    /// `route` is a route's name, never a path: names of pipelines would make a series each.
    pub fn responded(
        &self,
        method: &'static str,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        let labels = ResponseLabels {
            method,
            route,
            status,
        };
        self.0
            .responses
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// Counts objects of a kind that were garbage and have been removed.
    pub fn collected(&self, kind: &'static str, count: u64) {
        self.0
            .collected
            .get_or_create(&KindLabels { kind })
            .inc_by(count);
    }

    /// The disk that the data folder is on, when it was last looked at.
    pub fn disk(&self, total: u64, free: u64) {
        let whole = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.0.disk_bytes.set(whole(total));
        self.0.disk_free_bytes.set(whole(free));
    }

    /// Notes what teams use of their quotas: team, quota, used, limit. Teams that are not named are
    /// gone.
    pub fn quotas<'a>(&self, uses: impl IntoIterator<Item = (&'a str, &'static str, u64, u64)>) {
        let whole = |number| i64::try_from(number).unwrap_or(i64::MAX);
        self.0.quota_used.clear();
        self.0.quota_limit.clear();
        for (team, quota, used, limit) in uses {
            let labels = QuotaLabels {
                team: team.to_owned(),
                quota,
            };
            self.0.quota_used.get_or_create(&labels).set(whole(used));
            self.0.quota_limit.get_or_create(&labels).set(whole(limit));
        }
    }

    /// Records whether the targets file was refused, so that the targets of before stay in effect.
    pub fn targets_rejected(&self, rejected: bool) {
        self.0.targets_rejected.set(rejected.into());
    }

    /// Everything as Prometheus reads it, with the workers as they are now.
    pub fn render<'a>(&self, workers: impl Iterator<Item = WorkerGauge<'a>>) -> String {
        self.0.workers.clear();
        self.0.worker_containers.clear();
        self.0.worker_lacks.clear();
        for worker in workers {
            let state = StateLabels {
                state: worker.state.to_owned(),
            };
            self.0.workers.get_or_create(&state).inc();
            let name = WorkerLabels {
                worker: worker.name.to_owned(),
            };
            self.0
                .worker_containers
                .get_or_create(&name)
                .set(worker.containers);
            self.0.worker_lacks.get_or_create(&name).set(worker.lacks);
        }
        self.0.panics.clear();
        for (task, count) in airside_tasks::panics() {
            let labels = TaskLabels { task };
            self.0.panics.get_or_create(&labels).inc_by(count);
        }
        let mut text = String::new();
        if encode(&mut text, &self.0.registry).is_err() {
            let _ = writeln!(text, "# metrics cannot be written");
        }
        text
    }
}

impl StepLabels {
    fn of(kind: StepKind, worker: &str) -> Self {
        Self {
            kind: kind.as_str(),
            worker: worker.to_owned(),
        }
    }
}

fn counter(registry: &mut Registry, name: impl Into<String>, help: impl Into<String>) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

fn family<L, M>(registry: &mut Registry, name: &str, help: &str) -> Family<L, M>
where
    Family<L, M>: Default + Clone + prometheus_client::registry::Metric,
{
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ones_that_concourse_has() {
        let metrics = Metrics::default();
        metrics.build_started();
        let took = Duration::from_secs(2);
        metrics.build_finished(["main", "p", "j"], BuildStatus::Failed, took);
        metrics.responded("GET", "GetInfo", 200, Duration::from_millis(3));
        metrics.step_placed(StepKind::Task, "local");
        metrics.check_started();
        metrics.check_ended(BuildStatus::Succeeded);
        metrics.native_check_took("git", Duration::from_millis(3));
        metrics.collected("volumes", 3);
        metrics.disk(20, 5);
        metrics.quotas([("gone", "logs", 1, 2)]);
        metrics.quotas([("main", "volumes", 7, 9)]);
        let worker = WorkerGauge {
            name: "local",
            state: "running",
            containers: 2,
            lacks: 1,
        };
        let text = metrics.render([worker].into_iter());
        for line in [
            "concourse_builds_started_total 1",
            "concourse_builds_running 0",
            "concourse_builds_failed_total 1",
            "concourse_builds_succeeded_total 0",
            "concourse_builds_finished_total 1",
            "concourse_builds_duration_seconds_count 1",
            "concourse_builds_check_started_total 1",
            "concourse_builds_check_running 0",
            "concourse_builds_check_finished_total 1",
            "concourse_builds_check_succeeded_total 1",
            r#"concourse_native_checks_duration_seconds_count{type="git"} 1"#,
            r#"concourse_gc_collected_total{kind="volumes"} 3"#,
            "concourse_disk_free_bytes 5",
            r#"concourse_team_quota_used{team="main",quota="volumes"} 7"#,
            r#"concourse_team_quota_limit{team="main",quota="volumes"} 9"#,
            r#"concourse_workers_registered{state="running"} 1"#,
            r#"concourse_workers_containers{worker="local"} 2"#,
            r#"concourse_steps_placed_total{kind="task",worker="local"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is missing from\n{text}");
        }
        assert!(text.contains(
            r#"concourse_http_responses_duration_seconds_count{method="GET",route="GetInfo",status="200"} 1"#
        ));
        let gone = metrics.render(std::iter::empty());
        assert!(!gone.contains(r#"worker="local"} 2"#));
    }

    #[tokio::test]
    async fn panics_are_counted_by_task() {
        let broken = airside_tasks::caught("a test", async { panic!("of the test") });
        assert!(Result::<(), _>::is_err(&broken.await));
        let text = Metrics::default().render(std::iter::empty());
        let line = r#"concourse_panics_total{task="a test"} 1"#;
        assert!(text.contains(line), "{line} is missing from\n{text}");
    }
}
