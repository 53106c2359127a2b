//! Joins a container's network to the machine.

use std::{
    fs::{self, File},
    io,
    os::fd::AsFd,
};

use airside_confine::Interfaces;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::netlink;
use crate::network::{Pair, StepNetwork};

const INSIDE: &str = "eth0";

/// Makes the pair of interfaces, the far end in the network of `pid`. Leaves the helper in that
/// network.
pub(super) fn join(network: &StepNetwork, pid: i32) -> Result<(), String> {
    let failed =
        |error: io::Error| format!("cannot join the network: {}", airside_model::chain(&error));
    let pair = take_pair(network, pid).map_err(failed)?;
    machine_end(&pair).map_err(failed)?;
    let namespace = File::open(format!("/proc/{pid}/ns/net")).map_err(failed)?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| failed(error.into()))?;
    step_end(&pair).map_err(failed)
}

fn take_pair(network: &StepNetwork, pid: i32) -> io::Result<Pair> {
    for pair in network.pool.pairs(network.start) {
        match netlink::make_pair(&pair.name, network.group, INSIDE, pid) {
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
            made => return made.map(|()| pair),
        }
    }
    Err(io::Error::other("all addresses for steps are taken"))
}

fn machine_end(pair: &Pair) -> io::Result<()> {
    // An answer must come the way that a request would go: no step poses as another.
    let _ = fs::write(
        format!("/proc/sys/net/ipv4/conf/{}/rp_filter", pair.name),
        "1",
    );
    without_ipv6(&pair.name);
    let interfaces = Interfaces::open()?;
    interfaces.set_address(&pair.name, pair.machine, Pair::MASK)?;
    interfaces.set_up(&pair.name)
}

/// Keeps an interface that is not up yet from giving itself an IPv6 address. Where this cannot be
/// done there is no IPv6, or the machine's settings cannot be written: the rules drop it all the
/// same.
fn without_ipv6(interface: &str) {
    let setting = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    let _ = fs::write(setting, "1");
}

fn step_end(pair: &Pair) -> io::Result<()> {
    let interfaces = Interfaces::open()?;
    interfaces.set_up("lo")?;
    without_ipv6(INSIDE);
    interfaces.set_address(INSIDE, pair.step, Pair::MASK)?;
    interfaces.set_up(INSIDE)?;
    interfaces.add_default_route(pair.machine)
}
