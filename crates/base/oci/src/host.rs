//! Hosts of registries.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of a host's name, by the rules of DNS.
const MAX_HOST_BYTES: usize = 253;

/// Returns true if a text is a host, with or without a port: labels of letters, digits and `-`, an
/// IPv4 address, or an IPv6 address in brackets. It is safe in a URL.
pub fn is_registry_host(text: &str) -> bool {
    let Some((host, port)) = split_port(text) else {
        return false;
    };
    is_bare_host(host) && port.is_none_or(is_port)
}

/// Returns true if the first part of an image's name is a registry and not a part of a name on the
/// default one, as container runtimes decide it.
pub fn names_registry(first_part: &str) -> bool {
    first_part.contains(['.', ':'])
        || first_part == "localhost"
        || first_part.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Separates a port from its host. `None` for brackets that do not close.
pub(crate) fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let end = if text.starts_with('[') {
        text.find(']')? + 1
    } else {
        text.find(':').unwrap_or(text.len())
    };
    let (host, rest) = text.split_at(end);
    match rest.strip_prefix(':') {
        Some(port) => Some((host, Some(port))),
        None if rest.is_empty() => Some((host, None)),
        None => None,
    }
}

pub(crate) fn is_port(text: &str) -> bool {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Returns true if a text without a port is a host. A last label that begins with a digit and is a
/// number must end an IPv4 address of four plain numbers: other spellings of one, such as
/// `0x7f.1`, would pass as names and be addresses to a resolver.
pub(crate) fn is_bare_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']');
        return inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok());
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_hexadecimal = last
        .strip_prefix("0x")
        .or_else(|| last.strip_prefix("0X"))
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return host.parse::<Ipv4Addr>().is_ok();
    }
    host.len() <= MAX_HOST_BYTES && host.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    label.starts_with(is_word)
        && label.ends_with(is_word)
        && label.chars().all(|c| is_word(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for good in [
            "docker.io",
            "localhost",
            "localhost:5000",
            "registry:5000",
            "Registry.Example",
            "10.0.0.1",
            "10.0.0.1:65535",
            "[::1]",
            "[::1]:5000",
            "a-b.c1",
            "1a.example",
            "0x.example",
        ] {
            assert!(is_registry_host(good), "{good}");
        }
        let long = format!("{}.io", "a".repeat(260));
        for bad in [
            "",
            ":5000",
            "a:",
            "a:x",
            "a:0",
            "a:+1",
            "a:65536",
            "a:1:2",
            "a..b",
            ".a",
            "a.",
            "-a.b",
            "a-.b",
            "a_b.c",
            "a b.c",
            "a/b",
            "a@b.c",
            "a#b.c",
            "a?b.c",
            "a%41.c",
            "[::1",
            "[]",
            "[a.b]",
            "[::1]x",
            "::1",
            "2130706433",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "10.0.0.256",
            "ä.example",
            &long,
        ] {
            assert!(!is_registry_host(bad), "{bad}");
        }
    }

    #[test]
    fn first_parts_of_names() {
        assert!(
            ["a.b", "a:1", "localhost", "Host"]
                .into_iter()
                .all(names_registry)
        );
        assert!(!["a", "library", "a-b"].into_iter().any(names_registry));
    }
}
