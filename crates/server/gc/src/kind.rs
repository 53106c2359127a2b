//! Kinds of garbage.

use std::time::Duration;

/// One kind of garbage. The order is that of a sweep: what frees something comes before what
/// removes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Pipelines that a user destroyed, with all that they had.
    Pipelines,
    /// Logs, plans and outcomes of builds beyond what is retained.
    BuildLogs,
    /// Rows of builds that were reaped long ago.
    Builds,
    /// Builds that checked.
    Checks,
    ImageChecks,
    /// Versions of histories that no resource has any more.
    Versions,
    /// Resources that no configuration has any more.
    Resources,
    Jobs,
    Tokens,
    Artifacts,
    TaskCaches,
    ResourceCaches,
    /// Containers of workers that are gone; the sweeper removes those of others.
    Containers,
    Components,
    /// Uids of objects that asked for builds which are gone.
    BuildRequests,
    /// Log files without a build.
    Logs,
    Volumes,
    Images,
    /// Pages of the database's file.
    Pages,
}

/// Interval for garbage that builds leave all the time.
const FREQUENT_INTERVAL: Duration = Duration::from_secs(30);
/// The rest.
const SLOWLY: Duration = Duration::from_secs(600);

impl Kind {
    pub const ALL: [Self; 19] = [
        Self::Pipelines,
        Self::BuildLogs,
        Self::Builds,
        Self::Checks,
        Self::ImageChecks,
        Self::Versions,
        Self::Resources,
        Self::Jobs,
        Self::Tokens,
        Self::Artifacts,
        Self::TaskCaches,
        Self::ResourceCaches,
        Self::Containers,
        Self::Components,
        Self::BuildRequests,
        Self::Logs,
        Self::Volumes,
        Self::Images,
        Self::Pages,
    ];

    /// Returns the kind's name in the log and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipelines => "pipelines",
            Self::BuildLogs => "build-logs",
            Self::Builds => "builds",
            Self::Checks => "checks",
            Self::ImageChecks => "image-checks",
            Self::Versions => "versions",
            Self::Resources => "resources",
            Self::Jobs => "jobs",
            Self::Tokens => "tokens",
            Self::Artifacts => "artifacts",
            Self::TaskCaches => "task-caches",
            Self::ResourceCaches => "resource-caches",
            Self::Containers => "containers",
            Self::Components => "components",
            Self::BuildRequests => "build-requests",
            Self::Logs => "logs",
            Self::Volumes => "volumes",
            Self::Images => "images",
            Self::Pages => "database-pages",
        }
    }

    /// Returns the longest time between two collections of this kind.
    pub(crate) fn every(self) -> Duration {
        match self {
            Self::Checks | Self::ResourceCaches | Self::Volumes => FREQUENT_INTERVAL,
            _ => SLOWLY,
        }
    }
}
