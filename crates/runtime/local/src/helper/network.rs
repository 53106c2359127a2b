//! Joins a container's network to the machine.

use std::{
    fs::{self, File},
    io, mem,
    net::Ipv4Addr,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use super::netlink;
use crate::network::{Pair, StepNetwork};

const INSIDE: &str = "eth0";

/// Makes the pair of interfaces, the far end in the network of `pid`. Leaves the helper in that
/// network.
pub(super) fn join(network: &StepNetwork, pid: i32) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot join the network: {error}");
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
    let socket = socket()?;
    set_address(&socket, &pair.name, pair.machine)?;
    up(&socket, &pair.name)
}

/// Keeps an interface that is not up yet from giving itself an IPv6 address. Where this cannot be
/// done there is no IPv6, or the machine's settings cannot be written: the rules drop it all the
/// same.
fn without_ipv6(interface: &str) {
    let setting = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    let _ = fs::write(setting, "1");
}

fn step_end(pair: &Pair) -> io::Result<()> {
    let socket = socket()?;
    up(&socket, "lo")?;
    without_ipv6(INSIDE);
    set_address(&socket, INSIDE, pair.step)?;
    up(&socket, INSIDE)?;
    default_route(&socket, pair.machine)
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        flags,
        None,
    )?)
}

fn set_address(socket: &OwnedFd, interface: &str, address: Ipv4Addr) -> io::Result<()> {
    for (what, address) in [
        (libc::SIOCSIFADDR, address),
        (libc::SIOCSIFNETMASK, Pair::MASK),
    ] {
        let mut request = request_for(interface);
        request.ifr_ifru.ifru_addr = plain(address);
        // SAFETY: both requests read an `ifreq` with an address.
        checked(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &request) })?;
    }
    Ok(())
}

fn up(socket: &OwnedFd, interface: &str) -> io::Result<()> {
    let mut request = request_for(interface);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
    // SAFETY: this request reads an `ifreq` with flags.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) })
}

fn default_route(socket: &OwnedFd, gateway: Ipv4Addr) -> io::Result<()> {
    // SAFETY: all of it may be zero.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    route.rt_dst = plain(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = plain(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = plain(gateway);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    // SAFETY: this request reads an `rtentry`, which names no device.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &route) })
}

fn request_for(interface: &str) -> libc::ifreq {
    // SAFETY: all of it may be zero.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn plain(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all of it may be zero.
    let mut plain: libc::sockaddr = unsafe { mem::zeroed() };
    plain.sa_family = libc::AF_INET as _;
    // The port comes first.
    for (to, from) in plain.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    plain
}

fn checked(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
