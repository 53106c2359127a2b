//! Addresses of servers, as far as requests need them.

use std::fmt::Write;

use crate::Error;

/// `http` or `https`, a host and what to ask it for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    secure: bool,
    host: String,
    port: u16,
    /// Path and query; begins with a slash.
    target: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self, Error> {
        let bad = |why| Error::Address {
            url: without_user(url),
            why,
        };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| bad("it does not begin with http:// or https://"))?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(bad("it does not begin with http:// or https://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(bad("user and password do not belong there"));
        }
        let (host, port) =
            host_and_port(authority).ok_or_else(|| bad("its port is not a number"))?;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if host.is_empty() || host.contains(odd) || target.contains(odd) {
            return Err(bad("it has no host, or spaces in it"));
        }
        let target = if target.starts_with('/') {
            target.to_owned()
        } else {
            format!("/{target}")
        };
        let port = port.unwrap_or(if secure { 443 } else { 80 });
        Ok(Self {
            secure,
            host: host.to_owned(),
            port,
            target,
        })
    }

    /// Returns the address that a redirection from this one leads to.
    pub fn join(&self, location: &str) -> Result<Self, Error> {
        let target = match location {
            _ if location.contains("://") => return Self::parse(location),
            _ if location.starts_with("//") => {
                let scheme = if self.secure { "https:" } else { "http:" };
                return Self::parse(&format!("{scheme}{location}"));
            }
            _ if location.starts_with('/') => location.to_owned(),
            _ => {
                let path = self.target.split('?').next().unwrap_or_default();
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                format!("{folder}/{location}")
            }
        };
        Self::parse(&format!("{}{target}", self.origin()))
    }

    pub fn is_secure(&self) -> bool {
        self.secure
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn target(&self) -> &str {
        &self.target
    }

    /// The host as requests name it: with its port unless that is the usual one.
    pub fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }
}

impl std::fmt::Display for Address {
    /// Formats all but the query, which may hold a signature.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.target.split('?').next().unwrap_or_default();
        write!(f, "{}{path}", self.origin())
    }
}

fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after = authority.rfind(']').map_or(0, |end| end + 1);
    match authority[after..].rfind(':') {
        Some(colon) => {
            let (host, port) = authority.split_at(after + colon);
            Some((host, Some(port[1..].parse().ok()?)))
        }
        None => Some((authority, None)),
    }
}

fn without_user(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let start = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[start..])
        }
        None => url.to_owned(),
    }
}

/// Escapes a part of an address: everything but letters, digits, a few marks and the bytes of
/// `kept`.
pub fn encode(text: &str, kept: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (url, origin, port, target) in [
            ("https://h", "https://h", 443, "/"),
            ("HTTP://h:8080/a/b?c=d#e", "http://h:8080", 8080, "/a/b?c=d"),
            ("http://h?q", "http://h", 80, "/?q"),
            ("http://[::1]:5/x", "http://[::1]:5", 5, "/x"),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(address.origin(), origin, "{url}");
            assert_eq!((address.port(), address.target()), (port, target), "{url}");
        }
        for bad in [
            "",
            "h",
            "ftp://h",
            "http://",
            "http://h:x",
            "http://a b",
            "http://h/a\nb",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
        let words = Address::parse("http://me:secret@h/")
            .unwrap_err()
            .to_string();
        assert!(!words.contains("secret"), "{words}");
    }

    #[test]
    fn redirections_are_relative_or_not() {
        let from = Address::parse("https://h:1/a/b?c").unwrap();
        for (location, whole) in [
            ("http://x/y", "http://x/y"),
            ("//x/y", "https://x/y"),
            ("/y", "https://h:1/y"),
            ("y", "https://h:1/a/y"),
        ] {
            assert_eq!(from.join(location).unwrap().to_string(), whole);
        }
        assert_eq!(from.to_string(), "https://h:1/a/b");
        assert_eq!(encode("a/b c+é", b"/"), "a/b%20c%2B%C3%A9");
    }
}
