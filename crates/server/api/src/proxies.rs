//! Proxies in front of the server whose word is taken for the address of a caller.

use std::{fmt, net::IpAddr, str::FromStr, sync::Arc};

use airside_limits::{Busy, Limits, Peer, Transfers, Turn};
use http::HeaderMap;

/// The header in which a proxy names the addresses that a request came from, the nearest last.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The longest last entry that is read: an address of IPv6 with a zone's length to spare.
const MAX_ENTRY_BYTES: usize = 64;

/// A network of proxies, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyNetwork {
    address: IpAddr,
    bits: u8,
}

/// The reason why a text is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNetwork {
    #[error("is not a network; write it like 10.1.0.0/16, fd00::/8 or 10.1.2.3")]
    Unreadable,
    #[error("has {given} bits, but an address of its kind has {most}")]
    TooManyBits { given: u8, most: u8 },
    #[error("trusts every address of its kind; name the addresses of the proxies")]
    Everybody,
}

impl FromStr for ProxyNetwork {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| BadNetwork::Unreadable)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &&str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = match bits {
            None => most,
            Some(bits) => Some(bits)
                .filter(is_number)
                .and_then(|bits| bits.parse().ok())
                .ok_or(BadNetwork::Unreadable)?,
        };
        match bits {
            0 => Err(BadNetwork::Everybody),
            given if given > most => Err(BadNetwork::TooManyBits { given, most }),
            bits => Ok(Self { address, bits }),
        }
    }
}

impl fmt::Display for ProxyNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl ProxyNetwork {
    fn holds(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let rest = 32_u32.saturating_sub(self.bits.into());
                (own.to_bits() ^ other.to_bits()).checked_shr(rest) == Some(0)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let rest = 128_u32.saturating_sub(self.bits.into());
                (own.to_bits() ^ other.to_bits()).checked_shr(rest) == Some(0)
            }
            _ => false,
        }
    }
}

/// The proxies that are trusted, and the requests under way of each caller behind them. Clones
/// share them.
#[derive(Clone)]
pub struct TrustedProxies {
    networks: Arc<[ProxyNetwork]>,
    requests: Transfers<Peer>,
}

impl TrustedProxies {
    /// Trusts the proxies of these networks. One caller behind them has half as many requests under
    /// way as one address has places, so that it does not take those of all others.
    pub fn new(networks: Vec<ProxyNetwork>, limits: Limits) -> Self {
        Self {
            networks: networks.into(),
            requests: Transfers::new(usize::MAX, (limits.per_peer / 2).max(1)),
        }
    }

    /// Returns the address of the caller: the last entry of `X-Forwarded-For`, which the proxy
    /// itself wrote, if the request comes from a trusted proxy and the entry can be read; else the
    /// address of the connection. Earlier entries are the caller's own claims.
    pub(crate) fn caller(&self, from: IpAddr, headers: &HeaderMap) -> Caller {
        let from = from.to_canonical();
        let direct = Caller {
            address: from,
            is_behind_proxy: false,
        };
        if !self.networks.iter().any(|network| network.holds(from)) {
            return direct;
        }
        match forwarded_for(headers) {
            Some(address) => Caller {
                address,
                is_behind_proxy: true,
            },
            None => direct,
        }
    }

    /// Counts one more request of a caller behind a proxy. Others are counted by their connections.
    pub(crate) fn enter(&self, caller: Caller) -> Result<Option<Turn<Peer>>, Busy> {
        if !caller.is_behind_proxy {
            return Ok(None);
        }
        self.requests.enter(caller.peer()).map(Some)
    }
}

/// The sender of a request, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) address: IpAddr,
    is_behind_proxy: bool,
}

impl Caller {
    pub(crate) fn peer(self) -> Peer {
        Peer::from(std::net::SocketAddr::new(self.address, 0))
    }
}

/// Returns the last entry of the last header, with or without a port.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED_FOR).iter().next_back()?;
    let bytes = last.as_bytes();
    let entry = bytes.rsplit(|byte| *byte == b',').next()?.trim_ascii();
    if entry.len() > MAX_ENTRY_BYTES {
        return None;
    }
    let text = std::str::from_utf8(entry).ok()?;
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = address.or_else(|| Some(text.parse::<std::net::SocketAddr>().ok()?.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn proxies(networks: &[&str]) -> TrustedProxies {
        let networks = networks.iter().map(|network| network.parse().unwrap());
        let limits = Limits {
            overall: 8,
            per_peer: 4,
            grace: std::time::Duration::ZERO,
        };
        TrustedProxies::new(networks.collect(), limits)
    }

    fn caller(proxies: &TrustedProxies, from: &str, entries: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for entry in entries {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(entry).unwrap());
        }
        let caller = proxies.caller(from.parse().unwrap(), &headers);
        caller.address.to_string()
    }

    #[test]
    fn networks_are_read_or_refused() {
        for (text, expected) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("fd00::/8", "fd00::/8"),
            ("::1", "::1/128"),
        ] {
            let network: ProxyNetwork = text.parse().unwrap();
            assert_eq!(network.to_string(), expected);
        }
        for (text, expected) in [
            ("", BadNetwork::Unreadable),
            ("proxy.example.com", BadNetwork::Unreadable),
            ("10.0.0.0/", BadNetwork::Unreadable),
            ("10.0.0.0/+8", BadNetwork::Unreadable),
            ("10.0.0.0/999", BadNetwork::Unreadable),
            (
                "10.0.0.0/33",
                BadNetwork::TooManyBits {
                    given: 33,
                    most: 32,
                },
            ),
            ("0.0.0.0/0", BadNetwork::Everybody),
            ("::/0", BadNetwork::Everybody),
        ] {
            assert_eq!(text.parse::<ProxyNetwork>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn hostile_callers_do_not_choose_their_address() {
        let known = proxies(&["10.0.0.0/8", "fd00::/8"]);
        let long = "1".repeat(10_000);
        let cases: [(&str, &[&[u8]], &str); 14] = [
            ("192.0.2.1", &[b"198.51.100.7"], "192.0.2.1"),
            ("11.0.0.1", &[b"198.51.100.7"], "11.0.0.1"),
            ("10.255.0.1", &[], "10.255.0.1"),
            ("10.0.0.1", &[b"198.51.100.7"], "198.51.100.7"),
            ("::ffff:10.0.0.1", &[b"198.51.100.7"], "198.51.100.7"),
            ("fd00::5", &[b"2001:db8::1"], "2001:db8::1"),
            ("10.0.0.1", &[b"1.1.1.1, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.1", &[b"1.1.1.1", b"198.51.100.7"], "198.51.100.7"),
            ("10.0.0.1", &[b"198.51.100.7:4711"], "198.51.100.7"),
            ("10.0.0.1", &[b"[2001:db8::1]:4711"], "2001:db8::1"),
            ("10.0.0.1", &[b"198.51.100.7, unknown"], "10.0.0.1"),
            ("10.0.0.1", &[b"198.51.100.7,"], "10.0.0.1"),
            ("10.0.0.1", &[b"198.51.100.7, \xff\xfe"], "10.0.0.1"),
            ("10.0.0.1", &[long.as_bytes()], "10.0.0.1"),
        ];
        for (from, entries, expected) in cases {
            assert_eq!(
                caller(&known, from, entries),
                expected,
                "{from} {entries:?}"
            );
        }
        let none = proxies(&[]);
        assert_eq!(caller(&none, "127.0.0.1", &[b"198.51.100.7"]), "127.0.0.1");
    }

    #[test]
    fn hostile_callers_behind_a_proxy_leave_requests_to_others() {
        let proxies = proxies(&["10.0.0.1"]);
        let behind = |address: &str| Caller {
            address: address.parse().unwrap(),
            is_behind_proxy: true,
        };
        let _held = [1, 2].map(|_| proxies.enter(behind("192.0.2.1")).unwrap());
        assert_eq!(
            proxies.enter(behind("192.0.2.1")).err(),
            Some(Busy::Owner(2))
        );
        assert!(proxies.enter(behind("192.0.2.2")).unwrap().is_some());
    }
}
