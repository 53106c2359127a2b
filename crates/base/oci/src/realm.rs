//! Addresses of token servers, which registries name and which are not trusted for that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{
    host::{is_bare_host, is_port, split_port},
    shortened,
};

/// Address at which a cloud answers over IPv6 what it answers at a link-local address over IPv4.
const CLOUD_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The reason for which a registry's token server is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRealm {
    #[error("the registry names the token server {0:?}, which is not an address")]
    Unreadable(String),
    #[error("the registry is encrypted and names the token server {0}, which is not")]
    Unencrypted(String),
    #[error("the registry names the token server {0}, which is this machine or its link")]
    Nearby(String),
}

/// The parts of a URL that decide if it may be asked.
struct Origin {
    is_https: bool,
    host: String,
}

/// Refuses a realm that is less safe than the registry, and one on this machine or its link unless
/// the registry is there too: clouds have services there that hand out keys.
pub(crate) fn check_realm(realm: &str, registry: &str) -> Result<(), BadRealm> {
    let unreadable = || BadRealm::Unreadable(shortened(realm));
    let server = Origin::parse(realm).ok_or_else(unreadable)?;
    let registry = Origin::parse(registry);
    let is_registry_plain = registry.as_ref().is_some_and(|registry| !registry.is_https);
    if !server.is_https && !is_registry_plain {
        return Err(BadRealm::Unencrypted(shortened(realm)));
    }
    let is_same = registry.is_some_and(|registry| registry.host == server.host);
    if !is_same && is_nearby(&server.host) {
        return Err(BadRealm::Nearby(shortened(realm)));
    }
    Ok(())
}

impl Origin {
    /// Reads an `http` or `https` URL without a user, a fragment, or anything that two readers may
    /// take differently.
    fn parse(url: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\\#\"<>^`{|}".contains(&byte);
        if !url.bytes().all(is_plain) {
            return None;
        }
        let (scheme, rest) = url.split_once("://")?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, port) = split_port(&rest[..end])?;
        let is_host = is_bare_host(host) && port.is_none_or(is_port);
        is_host.then(|| Self {
            is_https,
            host: host.to_ascii_lowercase(),
        })
    }
}

/// Returns true if a host is written as this machine or its link.
fn is_nearby(host: &str) -> bool {
    if host == "localhost" || host.ends_with(".localhost") {
        return true;
    }
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => match address.to_canonical() {
            IpAddr::V4(v4) => is_nearby_v4(v4),
            IpAddr::V6(v6) => {
                v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.is_unicast_link_local()
                    || v6 == CLOUD_METADATA
                    || v6.to_ipv4().is_some_and(is_nearby_v4)
            }
        },
        Err(_) => false,
    }
}

fn is_nearby_v4(v4: Ipv4Addr) -> bool {
    v4.is_loopback() || v4.is_link_local() || v4.octets()[0] == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "https://r.example";

    #[test]
    fn hostile_realms_are_not_asked() {
        for (realm, registry, is_asked) in [
            ("https://auth.example/x", REGISTRY, true),
            ("HTTPS://auth.example:8443?a=b", REGISTRY, true),
            ("http://auth.example/x", "http://r.example", true),
            ("http://127.0.0.1:2/x", "http://127.0.0.1:1", true),
            ("https://[::1]:2/x", "https://[::1]:1", true),
            ("http://auth.example/x", REGISTRY, false),
            ("http://auth.example/x", "r.example", false),
            ("http://127.0.0.1/x", "https://127.0.0.1", false),
            ("http://169.254.169.254/x", "http://r.example", false),
            ("https://127.0.0.1/x", REGISTRY, false),
            ("https://0.0.0.0/x", REGISTRY, false),
            ("https://localhost/x", REGISTRY, false),
            ("https://LOCALHOST/x", REGISTRY, false),
            ("https://a.localhost/x", REGISTRY, false),
            ("https://localhost./x", REGISTRY, false),
            ("https://[::1]/x", REGISTRY, false),
            ("https://[fe80::1]/x", REGISTRY, false),
            ("https://[fd00:ec2::254]/x", REGISTRY, false),
            ("https://[::ffff:169.254.169.254]/x", REGISTRY, false),
            ("https://2130706433/x", REGISTRY, false),
            ("https://0x7f.1/x", REGISTRY, false),
            ("https://auth.example@127.0.0.1/x", REGISTRY, false),
            ("https://127.0.0.1\\@auth.example/x", REGISTRY, false),
            ("https://auth.example/x#y", REGISTRY, false),
            ("https://auth.example/x y", REGISTRY, false),
            ("https://auth.example/x\r\ny", REGISTRY, false),
            ("https://", REGISTRY, false),
            ("ftp://auth.example/x", REGISTRY, false),
            ("file:///etc/passwd", REGISTRY, false),
            ("x", REGISTRY, false),
            ("", REGISTRY, false),
        ] {
            let checked = check_realm(realm, registry);
            assert_eq!(
                checked.is_ok(),
                is_asked,
                "{realm} of {registry}: {checked:?}"
            );
        }
    }
}
