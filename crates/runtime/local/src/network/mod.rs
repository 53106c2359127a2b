//! The network of local steps: each has its own, joined to the machine by a pair of interfaces, and
//! leaves through address translation.
//!
//! ```text
//! step  eth0 10.80.0.2/30 ── airside0 10.80.0.1/30  machine ── masquerade ──▶ outside
//! ```
//!
//! A pair for each step and no bridge: steps share no wire, so that none can pose as another. The
//! pair's number is taken by making the interface, so the kernel is the one who keeps the list, for
//! all installations on the machine together; it goes with the step's last process, whatever
//! becomes of us. What the machine must do for all of an installation is one table of rules
//! ([`rules`]), which knows the installation's interfaces by their [`Group`], and forwarding. There
//! is no IPv6 on either end.

mod group;
mod pool;
mod rules;

use std::{fs, io};

use airside_model::{Handle, InstallationId};
use serde::{Deserialize, Serialize};

pub(crate) use group::Group;
pub(crate) use pool::Pair;
pub use pool::{BadPool, Pool};

const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// The access of steps to the machine itself, by any of its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostAccess {
    #[default]
    Denied,
    Allowed,
}

/// The access of steps to link-local addresses, at which clouds give the machine's own credentials
/// to every caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataAccess {
    #[default]
    Denied,
    Allowed,
}

/// The facts with which the helper joins a step to the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepNetwork {
    pub pool: Pool,
    pub group: Group,
    /// Number at which the search for a free pair begins.
    pub start: u32,
}

/// This machine's side, ready.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pool: Pool,
    group: Group,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("every range of addresses that could be used is in use on this machine")]
    NoPool,
    #[error(transparent)]
    Rules(#[from] rules::Error),
    #[error("{FORWARDING}: {0}")]
    Forwarding(io::Error),
}

impl Network {
    /// Makes the rules and turns forwarding on.
    pub(crate) fn set_up(
        installation: &InstallationId,
        wanted: Option<Pool>,
        host: HostAccess,
        metadata: MetadataAccess,
    ) -> Result<Self, Error> {
        let pool = wanted.or_else(Pool::free).ok_or(Error::NoPool)?;
        let group = Group::of(installation);
        let rules = rules::Rules {
            group,
            pool,
            host,
            metadata,
        };
        rules::install(installation, rules)?;
        forward().map_err(Error::Forwarding)?;
        Ok(Self { pool, group })
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    pub(crate) fn of_step(&self, handle: &Handle) -> StepNetwork {
        StepNetwork {
            pool: self.pool,
            group: self.group,
            start: self.pool.start_for(handle.as_str()),
        }
    }
}

/// Removes what [`Network::set_up`] left, but for forwarding, which others may rely on by now.
pub(crate) fn take_down(installation: &InstallationId) {
    rules::remove(installation);
}

/// True if rules of the installation are there.
pub(crate) fn is_set_up(installation: &InstallationId) -> bool {
    rules::exist(installation)
}

/// Returns the version of the program that makes the rules, or why it cannot make any.
pub(crate) fn rules_program() -> Result<String, Error> {
    Ok(rules::program()?)
}

fn forward() -> io::Result<()> {
    if fs::read_to_string(FORWARDING)?.trim() == "1" {
        return Ok(());
    }
    tracing::info!("IPv4 forwarding turned on for the network of steps");
    fs::write(FORWARDING, "1")
}
