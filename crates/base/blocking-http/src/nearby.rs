//! Addresses that mean this machine or its link: a stranger's server must not lead there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Address, Error};

/// The address at which a cloud answers over IPv6 what it answers at a link-local address over
/// IPv4.
const CLOUD: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

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
