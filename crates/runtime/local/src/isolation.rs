//! The isolation of steps from the machine and from each other: the options, and the abilities of
//! this machine.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, Stdio},
};

use airside_model::chain;
use airside_runtime::PlacementSpec;
use tracing::{info, warn};

use crate::{
    HostAccess, IdRange, LocalOptions, Maker, MetadataAccess, Pool,
    network::{Network, StepNetwork},
    rootless,
};

/// Default limit of processes: more than builds need, and fewer than a machine can take.
const PROCESSES: u32 = 10_000;

/// The network that steps have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkChoice {
    /// Each its own.
    #[default]
    Own,
    /// The machine's, loopback included.
    Machine,
}

/// The administrator's options.
#[derive(Clone, Debug)]
pub struct IsolationOptions {
    pub ids: IdRange,
    pub network: NetworkChoice,
    /// Addresses of steps; a free block by default.
    pub pool: Option<Pool>,
    pub host_access: HostAccess,
    pub metadata_access: MetadataAccess,
    /// Number of processes and threads that a step may have at once.
    pub processes: u32,
    pub maker: Maker,
}

impl Default for IsolationOptions {
    fn default() -> Self {
        Self {
            ids: IdRange::default(),
            network: NetworkChoice::default(),
            pool: None,
            host_access: HostAccess::default(),
            metadata_access: MetadataAccess::default(),
            processes: PROCESSES,
            maker: Maker::default(),
        }
    }
}

/// The isolation that steps get here.
#[derive(Clone, Debug)]
pub(crate) struct Isolation {
    ids: Option<IdRange>,
    network: Option<Network>,
    pub processes: u32,
}

impl Isolation {
    /// Finds out what the machine can do, and logs what it cannot. There is nothing to find out
    /// where no step can run.
    pub(crate) fn find(options: &LocalOptions, can_run: bool) -> Self {
        let wanted = &options.isolation;
        if !can_run {
            return Self::none(wanted.processes);
        }
        if rootless::is_inside() {
            info!(
                worker = %options.worker,
                "local steps are held in this user's own namespace: root in a step is this user"
            );
            // A warning, as for root's steps: all that listens on loopback can be reached.
            warn!(
                worker = %options.worker,
                reason = "networks for steps need root; a hermetic step has none",
                "local steps share the machine's network, with all that listens on it"
            );
            return Self::none(wanted.processes);
        }
        let ids = match can_show_other_ids(&options.helper, &options.root, wanted.ids) {
            Ok(()) => Some(wanted.ids),
            Err(reason) => {
                warn!(
                    worker = %options.worker, reason,
                    "local steps run without a user namespace: root in a step is the machine's root, \
                     held only by capabilities and the system call filter"
                );
                None
            }
        };
        let network = network(options);
        if let (Some(ids), Some(network)) = (&ids, &network) {
            info!(worker = %options.worker, %ids, pool = %network.pool(), "local steps are isolated");
        }
        Self {
            ids,
            network,
            processes: wanted.processes,
        }
    }

    fn none(processes: u32) -> Self {
        Self {
            ids: None,
            network: None,
            processes,
        }
    }

    /// A privileged step is the machine's root: that is what the word means.
    pub(crate) fn ids(&self, spec: &PlacementSpec) -> Option<IdRange> {
        self.ids.filter(|_| !spec.privileged)
    }

    pub(crate) fn network(&self, spec: &PlacementSpec) -> Option<StepNetwork> {
        self.network
            .as_ref()
            .map(|network| network.of_step(&spec.handle))
    }
}

fn network(options: &LocalOptions) -> Option<Network> {
    let wanted = &options.isolation;
    if wanted.network == NetworkChoice::Machine {
        info!(
            worker = %options.worker, reason = "the settings say so",
            "local steps share the machine's network, with all that listens on it"
        );
        return None;
    }
    let made = Network::set_up(
        &options.installation,
        wanted.pool,
        wanted.host_access,
        wanted.metadata_access,
    );
    match made {
        Ok(network) => Some(network),
        Err(error) => {
            warn!(
                worker = %options.worker, error = %chain(&error),
                "local steps share the machine's network, with all that listens on it"
            );
            None
        }
    }
}

/// Asks the helper, which has the one thread that this takes, whether the kernel shows the folder
/// with other ids, as unprivileged steps need it. Blocks.
pub fn can_show_other_ids(helper: &[OsString], folder: &Path, ids: IdRange) -> Result<(), String> {
    let [program, leading @ ..] = helper else {
        return Err("no helper program is configured".to_owned());
    };
    let output = Command::new(program)
        .args(leading)
        .arg("probe")
        .arg(folder)
        .arg(ids.to_string())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            format!(
                "{}: {error}",
                Path::new(program).display(),
                error = chain(&error)
            )
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
