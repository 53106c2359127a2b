//! Limits on the process, which shares a container with the shim: fewer capabilities, fewer system
//! calls, perhaps no network.
//!
//! The shim needs rights that the process must not have (to make a network namespace, to install a
//! filter that `sudo` survives). A runtime gives them to the container and says here which of them
//! are the process's. Everything is arranged before the fork; after it, only system calls are made.

mod network;

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use airside_confine::{Capabilities, Filter};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The limits that the runtime asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confinement {
    capabilities: Option<Capabilities>,
    filtered: bool,
    /// True if another mechanism keeps hermetic processes off the network.
    network_held: bool,
}

impl Confinement {
    /// Parses the values of the variables, where they are set.
    pub(crate) fn parse(
        capabilities: Option<&str>,
        seccomp: Option<&str>,
        network: Option<&str>,
    ) -> Result<Self, String> {
        let capabilities = capabilities
            .map(|text| Capabilities::parse(text).ok_or_else(|| text.to_owned()))
            .transpose()?;
        match (seccomp, network) {
            (None | Some("default"), None | Some("held")) => Ok(Self {
                capabilities,
                filtered: seccomp.is_some(),
                network_held: network.is_some(),
            }),
            (None | Some("default"), Some(other)) | (Some(other), _) => Err(other.to_owned()),
        }
    }
}

/// The place of all processes of a step: the one that was ordered and those of people who look in.
pub(crate) struct Jail {
    capabilities: Option<Capabilities>,
    filter: Option<Filter>,
    network: Option<OwnedFd>,
}

impl Jail {
    pub(crate) fn new(confinement: Confinement, hermetic: bool) -> io::Result<Self> {
        Ok(Self {
            capabilities: confinement.capabilities,
            filter: confinement.filtered.then(Filter::default),
            network: (hermetic && !confinement.network_held)
                .then(network::nowhere)
                .transpose()?,
        })
    }

    /// Does what needs the shim's rights, before the process becomes its user.
    pub(crate) fn enter(&self) -> io::Result<()> {
        if let Some(network) = &self.network {
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        }
        if let Some(capabilities) = &self.capabilities {
            capabilities.bound()?;
        }
        if let Some(filter) = &self.filter {
            filter.install()?;
        }
        Ok(())
    }

    /// Gives up what is left, once the process is its user.
    pub(crate) fn lock(&self) -> io::Result<()> {
        match &self.capabilities {
            Some(capabilities) => capabilities.give_up_others(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runtime_asks_for_is_understood_or_refused() {
        let nothing = Confinement::parse(None, None, None);
        assert_eq!(nothing, Ok(Confinement::default()));
        let asked = Confinement::parse(Some("a80425fb"), Some("default"), None).unwrap();
        assert!(asked.filtered && asked.capabilities.is_some() && !asked.network_held);
        for (capabilities, seccomp, network) in [
            (Some("all"), None, None),
            (None, Some("strict"), None),
            (None, Some("default"), Some("open")),
        ] {
            assert!(Confinement::parse(capabilities, seccomp, network).is_err());
        }
    }

    #[test]
    fn where_the_network_is_held_none_is_made() {
        let held = Confinement::parse(None, None, Some("held")).unwrap();
        // Making one would take rights that this test need not have.
        assert!(Jail::new(held, true).unwrap().network.is_none());
    }
}
