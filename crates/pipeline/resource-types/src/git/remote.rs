//! The address of a repository, taken apart as far as its safety needs it.

use crate::Failure;

/// An address that git may see: without credentials, and of a protocol that is allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) uri: String,
    pub(super) protocol: Protocol,
    /// Credentials that were part of the address.
    pub(super) user: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    Https,
    Ssh,
    Git,
}

/// The protocols that git may speak, also for submodules and redirections.
pub(super) const ALLOWED: &str = "http:https:ssh:git";

const IS_FOLDER: &str =
    "is a folder, which no container sees: serve it over https, ssh, http or git";

impl Remote {
    pub(super) fn parse(uri: Option<&str>) -> Result<Self, Failure> {
        let uri = uri.unwrap_or_default().trim();
        let bad = |words: &str| Err(Failure::source("uri", words));
        if uri.is_empty() {
            return bad("is missing: give the address of the repository");
        }
        if uri.starts_with('-') || uri.contains(['\n', '\r', '\0']) {
            return bad("is not an address of a repository");
        }
        let protocol = match uri.split_once("://") {
            Some(("http", _)) => Protocol::Http,
            Some(("https", _)) => Protocol::Https,
            Some(("ssh" | "git+ssh" | "ssh+git", _)) => Protocol::Ssh,
            Some(("git", _)) => Protocol::Git,
            Some(("file", _)) => return bad(IS_FOLDER),
            Some((other, _)) if !other.contains(['/', ':']) => {
                let words = format!("has the protocol {other:?}: use https, ssh, http or git");
                return bad(&words);
            }
            _ if is_helper(uri) => {
                return bad("would run a program to reach the repository: use https or ssh");
            }
            _ if is_scp(uri) => Protocol::Ssh,
            _ => return bad(IS_FOLDER),
        };
        let (uri, user) = match protocol {
            Protocol::Http | Protocol::Https => without_user(uri),
            _ => (uri.to_owned(), None),
        };
        let remote = Self {
            uri,
            protocol,
            user,
        };
        let host = remote.host();
        if airside_blocking_http::is_closed_link(host.trim_matches(['[', ']'])) {
            return bad(airside_blocking_http::LINK_REFUSED);
        }
        Ok(remote)
    }

    /// Returns the name or address of the server.
    fn host(&self) -> String {
        if let Some((host, _)) = self.server() {
            return host;
        }
        let (before, _) = self.uri.split_once('/').unwrap_or((&self.uri, ""));
        let place = before.rsplit('@').next().unwrap_or(before);
        let end = match place.find(']') {
            Some(bracket) => bracket + 1,
            None => place.find(':').unwrap_or(place.len()),
        };
        place[..end].to_owned()
    }

    /// Returns the host and port of the server, for addresses with a scheme.
    pub(super) fn server(&self) -> Option<(String, u16)> {
        let usual = match self.protocol {
            Protocol::Http => 80,
            Protocol::Https => 443,
            Protocol::Ssh => 22,
            Protocol::Git => 9418,
        };
        let (_, authority) = self.origin()?;
        let place = authority.rsplit('@').next().unwrap_or(authority);
        // The colons of an address in brackets are not followed by a port.
        match place
            .rsplit_once(':')
            .filter(|(_, port)| !port.contains(']'))
        {
            Some((host, port)) => Some((host.to_owned(), port.parse().ok()?)),
            None => Some((place.to_owned(), usual)),
        }
    }

    /// `https://host:port`, for addresses that have it.
    pub(super) fn origin(&self) -> Option<(&str, &str)> {
        let (scheme, rest) = self.uri.split_once("://")?;
        Some((scheme, rest.split(['/', '?', '#']).next()?))
    }
}

/// `ext::…` and its like: git would start a program of that name.
fn is_helper(uri: &str) -> bool {
    uri.split_once("::")
        .is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// `user@host:path`: a colon before the first slash.
fn is_scp(uri: &str) -> bool {
    uri.split('/').next().is_some_and(|host| host.contains(':'))
}

/// Takes user and password out of an address: what is on a command line is seen by every user.
fn without_user(uri: &str) -> (String, Option<(String, String)>) {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return (uri.to_owned(), None);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((user, host)) = authority.rsplit_once('@') else {
        return (uri.to_owned(), None);
    };
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    (
        format!("{scheme}://{host}{path}"),
        Some((decode(name), decode(password))),
    )
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_addresses_name_their_host() {
        for (uri, host) in [
            ("https://169.254.169.254/a.git", "169.254.169.254"),
            ("https://u:p@169.254.169.254:80/a.git", "169.254.169.254"),
            ("ssh://git@[fe80::1]:22/a.git", "[fe80::1]"),
            ("git@169.254.169.254:a.git", "169.254.169.254"),
            ("git@[fd00:ec2::254]:a.git", "[fd00:ec2::254]"),
            ("a@b@169.254.169.254:a.git", "169.254.169.254"),
            ("git://169.254.169.254", "169.254.169.254"),
        ] {
            assert_eq!(Remote::parse(Some(uri)).unwrap().host(), host, "{uri}");
        }
    }

    #[test]
    fn addresses_with_a_scheme_have_a_server() {
        for (uri, server) in [
            ("git://127.0.0.1:18499/app.git", Some(("127.0.0.1", 18499))),
            ("git://localhost/app.git", Some(("localhost", 9418))),
            ("https://me:secret@h/app.git", Some(("h", 443))),
            ("ssh://git@[::1]:2222/app", Some(("[::1]", 2222))),
            ("http://[::1]/app", Some(("[::1]", 80))),
            ("http://h:port/app", None),
            ("git@h:app.git", None),
        ] {
            let found = Remote::parse(Some(uri)).unwrap().server();
            let server = server.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(found, server, "{uri}");
        }
    }

    #[test]
    fn protocols_are_known_or_refused() {
        for (uri, protocol) in [
            ("https://a/b.git", Protocol::Https),
            ("http://a/b", Protocol::Http),
            ("ssh://git@a:22/b", Protocol::Ssh),
            ("git@a:b/c.git", Protocol::Ssh),
            ("a:b", Protocol::Ssh),
            ("git://a/b", Protocol::Git),
        ] {
            let remote = Remote::parse(Some(uri)).unwrap();
            assert_eq!(
                (remote.protocol, remote.uri.as_str()),
                (protocol, uri),
                "{uri}"
            );
        }
        for uri in [
            "",
            "-uploadpack=x",
            "ext::sh -c id",
            "fd::7",
            "ftp://a/b",
            "/a/b",
            "./a",
            "file:///a",
            "a\nb",
        ] {
            let words = Remote::parse(Some(uri)).unwrap_err().to_string();
            assert!(words.starts_with("source.uri "), "{uri}: {words}");
        }
    }

    #[test]
    fn credentials_are_taken_out() {
        for (uri, clean, user) in [
            ("https://h/p", "https://h/p", None),
            (
                "https://u:p%40ss@h:8/p?q",
                "https://h:8/p?q",
                Some(("u", "p@ss")),
            ),
            ("https://token@h/p@q", "https://h/p@q", Some(("token", ""))),
            ("https://u:a@b@h", "https://h", Some(("u", "a@b"))),
            ("https://%zz%:%@h", "https://h", Some(("%zz%", "%"))),
        ] {
            let remote = Remote::parse(Some(uri)).unwrap();
            let user = user.map(|(name, password)| (name.to_owned(), password.to_owned()));
            assert_eq!((remote.uri.as_str(), remote.user), (clean, user), "{uri}");
        }
        let encode = |text: &str| airside_blocking_http::encode(text, b"");
        assert_eq!(encode("a b@c/ü"), "a%20b%40c%2F%C3%BC");
        assert_eq!(decode(&encode("a b@c/ü%")), "a b@c/ü%");
    }
}
