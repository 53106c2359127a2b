//! The process's limit of open files, and how it is divided.

use std::{sync::OnceLock, time::Duration};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Limits;

/// More connections than this are of no use to one server, whatever the limit of files.
const MOST_CONNECTIONS: u64 = 8192;

/// More shims than this do not claim their work in the same moment.
const MOST_UNCLAIMED: u64 = 1024;

/// More connections than this at once are no use to one step: transfers, and the one of its shim.
const RELAYED_PER_STEP: u64 = 48;

/// More connections than this are no use to a server inside a cluster.
const MOST_SERVED: u64 = 4096;

/// The soft limit that this process was started with.
static AT_START: OnceLock<Option<u64>> = OnceLock::new();

/// The limit of open files of this process.
///
/// Connections of people get three eighths of it and connections that have not claimed anything yet
/// one eighth. The other half is for the database, logs, volumes, checkers and the steps that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    limit: u64,
}

impl Files {
    /// Divides a limit of this many files.
    pub fn of(limit: u64) -> Self {
        Self { limit }
    }

    /// The limit that this process has now.
    pub fn now() -> Self {
        Self::of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    /// Raises the soft limit of this process to its hard limit. The limit stays as it is where that
    /// is refused.
    pub fn raise() -> Self {
        let found = getrlimit(Resource::Nofile);
        AT_START.get_or_init(|| found.current);
        let raised = Rlimit {
            current: found.maximum,
            maximum: found.maximum,
        };
        let limit = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => found.maximum,
            Err(_) => found.current,
        };
        Self::of(limit.unwrap_or(u64::MAX))
    }

    /// The number of files that may be open.
    pub fn limit(self) -> u64 {
        self.limit
    }

    /// The places for connections to the API, the registry and the metrics together.
    pub fn connections(self) -> Limits {
        let overall = (self.limit / 8 * 3).clamp(16, MOST_CONNECTIONS);
        Limits {
            overall: to_usize(overall),
            // A proxy in front of the server is one peer, with all of its people.
            per_peer: to_usize(overall / 2),
            grace: Duration::ZERO,
        }
    }

    /// The places for connections to the hub that have not claimed anything yet.
    pub fn unclaimed(self) -> Limits {
        let overall = (self.limit / 8).clamp(16, MOST_UNCLAIMED);
        Limits {
            overall: to_usize(overall),
            per_peer: to_usize(overall / 4),
            // Shims that come back together after a restart must not push each other out of their
            // handshakes.
            grace: Duration::from_millis(100),
        }
    }

    /// The places for connections of steps to the hub that this process passes on, each of which
    /// takes two files.
    pub fn relayed(self) -> Limits {
        let overall = (self.limit / 4).clamp(16, MOST_CONNECTIONS);
        Limits {
            overall: to_usize(overall),
            per_peer: to_usize((overall / 4).min(RELAYED_PER_STEP)),
            grace: Duration::ZERO,
        }
    }

    /// The places of a server inside a cluster, whose few peers may each have many connections.
    pub fn served(self) -> Limits {
        let overall = (self.limit / 2).clamp(16, MOST_SERVED);
        Limits {
            overall: to_usize(overall),
            per_peer: to_usize(overall / 4),
            grace: Duration::from_secs(1),
        }
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The soft and the hard limit of open files for steps: those that this process was started with,
/// so that a raised limit stays the server's own. `None` where there is no limit.
pub fn files_of_steps() -> Option<(u64, u64)> {
    let now = getrlimit(Resource::Nofile);
    let soft = AT_START.get().copied().unwrap_or(now.current);
    soft.zip(now.maximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_files_are_never_given_to_strangers() {
        for limit in [256, 1024, 4096, 65_536, 1 << 20, u64::MAX] {
            let files = Files::of(limit);
            let given = files.connections().overall + files.unclaimed().overall;
            assert!(given as u64 <= limit / 2, "{limit}: {given}");
        }
    }

    #[test]
    fn hostile_connections_leave_half_of_the_files_of_each_server() {
        for limit in [256, 1024, 4096, 65_536, 1 << 20, u64::MAX] {
            let files = Files::of(limit);
            let (served, relayed) = (files.served().overall, files.relayed().overall);
            assert!(served as u64 <= (limit / 2).min(4096), "{limit}: {served}");
            assert!(2 * relayed as u64 <= limit / 2, "{limit}: {relayed}");
        }
    }

    #[test]
    fn a_small_limit_still_has_places() {
        let files = Files::of(1024);
        assert_eq!(files.served().overall, 512);
        assert_eq!(files.relayed().overall, 256);
        assert_eq!(files.relayed().per_peer, 48);
        assert_eq!(files.connections().overall, 384);
        assert_eq!(files.connections().per_peer, 192);
        assert_eq!(files.unclaimed().overall, 128);
        assert_eq!(files.unclaimed().per_peer, 32);
    }
}
