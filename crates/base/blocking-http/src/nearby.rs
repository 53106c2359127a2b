//! Addresses that mean this machine or its link: a stranger's server must not lead there.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{Address, Error};

/// The address at which a cloud answers over IPv6 what it answers at a link-local address over
/// IPv4.
const CLOUD: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The beginning of addresses of IPv6 that a network translates to those of IPv4.
const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];

/// The reason why a process does not connect to a link-local address.
pub const LINK_REFUSED: &str = "its host is a link-local address, where clouds hand out this machine's credentials; \
    --local-metadata-access of the server or agent opens it";

/// True in a process that must not reach link-local addresses.
static LINK_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Refuses connections of this process to link-local addresses from now on: clouds hand out the
/// machine's own credentials there. For processes that connect to where tenants say.
pub fn close_link() {
    LINK_IS_CLOSED.store(true, Ordering::Relaxed);
}

/// Returns true if this process must not reach the host, because the host is a link-local address
/// or a name of one. For hosts to which other programs connect.
pub fn is_closed_link(host: &str) -> bool {
    if !LINK_IS_CLOSED.load(Ordering::Relaxed) {
        return false;
    }
    let name = host.trim_matches(['[', ']']);
    // The system also reads spellings such as 0xA9FEA9FE. A name that leads nowhere is no risk.
    let places = (name, 0).to_socket_addrs();
    places.is_ok_and(|mut places| places.any(|place| is_link(&place.ip())))
}

/// Returns an error if one of the places is link-local and this process must not reach it.
pub(crate) fn check_link(address: &Address, places: &[SocketAddr]) -> Result<(), Error> {
    let is_closed = LINK_IS_CLOSED.load(Ordering::Relaxed);
    if is_closed && places.iter().any(|place| is_link(&place.ip())) {
        return Err(link_refused(address));
    }
    Ok(())
}

/// The error for a link-local address that this process must not reach.
pub(crate) fn link_refused(address: &Address) -> Error {
    Error::Address {
        url: address.to_string(),
        why: LINK_REFUSED,
    }
}

/// Returns true if only the machine's link knows the address, or a cloud answers there as if it
/// were on the link. Addresses of IPv4 count in every spelling that IPv6 has for them.
fn is_link(address: &IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => {
            let translated = v6.segments()[..6] == NAT64;
            v6.is_unicast_link_local()
                || v6 == CLOUD
                || v6.to_ipv4().is_some_and(|v4| v4.is_link_local())
                || (translated && v6.octets()[12..14] == [169, 254])
        }
    }
}

/// Returns true if the host is written as an address of this machine or of its link.
pub(crate) fn is_named(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse().is_ok_and(|address| is_nearby(&address))
}

/// The error for an address that a stranger's server must not lead to.
pub(crate) fn refused(address: &Address) -> Error {
    Error::Address {
        url: address.to_string(),
        why: "a server elsewhere leads there, and it is this machine or its link",
    }
}

/// Returns true if an address is this machine's, or one that only its link knows.
pub(crate) fn is_nearby(address: &IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_nearby_v4(v4),
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unicast_link_local()
                || v6 == CLOUD
                || v6.to_ipv4().is_some_and(is_nearby_v4)
        }
    }
}

fn is_nearby_v4(v4: Ipv4Addr) -> bool {
    v4.is_loopback() || v4.is_link_local() || v4.octets()[0] == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_spellings_of_the_link_are_found() {
        for (address, expected) in [
            ("169.254.169.254", true),
            ("169.254.0.1", true),
            ("fe80::1", true),
            ("fd00:ec2::254", true),
            ("::ffff:169.254.169.254", true),
            ("::169.254.169.254", true),
            ("64:ff9b::a9fe:a9fe", true),
            ("64:ff9b::7f00:1", false),
            ("127.0.0.1", false),
            ("169.253.0.1", false),
            ("::1", false),
            ("fd00:ec2::255", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_link(&address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn hostile_names_of_this_machine_are_found() {
        for near in [
            "127.0.0.1",
            "127.8.8.8",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "0.0.0.0",
            "169.254.169.254",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:169.254.169.254]",
            "[fd00:ec2::254]",
        ] {
            assert!(is_named(near), "{near}");
        }
        for far in ["10.0.0.1", "192.0.2.1", "[2001:db8::1]", "[fd00::1]"] {
            assert!(!is_named(far), "{far}");
        }
    }
}
