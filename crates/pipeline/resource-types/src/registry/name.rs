//! Names of repositories, and where they are when they do not say.

use std::fmt;

use crate::Failure;

/// Where names without a host live.
const DEFAULT_HOST: &str = "index.docker.io";

/// `host/name`, checked so that it can be part of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    host: String,
    name: String,
}

impl Repository {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let bad = |words: &str| Failure::source("repository", format!("is {text:?}: {words}"));
        if text.is_empty() {
            let words = "is missing: give the image's name, without a tag";
            return Err(Failure::source("repository", words));
        }
        let (host, name) = match text.split_once('/') {
            Some((host, name)) if host.contains(['.', ':']) || host == "localhost" => (host, name),
            _ => (DEFAULT_HOST, text),
        };
        let host = if host == "docker.io" {
            DEFAULT_HOST
        } else {
            host
        };
        let name = if host == DEFAULT_HOST && !name.contains('/') {
            format!("library/{name}")
        } else {
            name.to_owned()
        };
        let part = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-/".contains(&byte)
        };
        if name.contains([':', '@']) {
            return Err(bad("a tag or digest does not belong there"));
        }
        if !name.bytes().all(part)
            || name
                .split('/')
                .any(|part| part.is_empty() || part.starts_with('.'))
        {
            return Err(bad("that is no name of an image"));
        }
        let begins = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
        if !begins
            || !host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
        {
            return Err(bad("that is no host"));
        }
        Ok(Self {
            host: host.to_owned(),
            name,
        })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The registry as people call it.
    pub(crate) fn registry(&self) -> &str {
        if self.is_default() {
            "docker.io"
        } else {
            &self.host
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same name somewhere else.
    pub(crate) fn at(&self, host: &str) -> Result<Self, Failure> {
        Self::parse(&format!("{host}/{}", self.name))
    }

    /// Whether it is one of those that a mirror stands in for.
    pub(crate) fn is_default(&self) -> bool {
        self.host == DEFAULT_HOST
    }

    /// Whether the registry is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = match self.host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => self.host.split(':').next().unwrap_or_default(),
        };
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    pub(crate) fn scope(&self, push: bool) -> String {
        let actions = if push { "pull,push" } else { "pull" };
        format!("repository:{}:{actions}", self.name)
    }

    /// With a tag or digest, for people.
    pub(crate) fn with(&self, reference: &str) -> String {
        let mark = if reference.starts_with("sha256:") {
            '@'
        } else {
            ':'
        };
        format!("{self}{mark}{reference}")
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_default() {
            f.write_str(self.name.strip_prefix("library/").unwrap_or(&self.name))
        } else {
            write!(f, "{}/{}", self.host, self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_host_or_get_one() {
        for (text, host, name) in [
            ("busybox", DEFAULT_HOST, "library/busybox"),
            ("a/b", DEFAULT_HOST, "a/b"),
            ("docker.io/a/b", DEFAULT_HOST, "a/b"),
            ("localhost/a", "localhost", "a"),
            ("h:5000/a/b_c", "h:5000", "a/b_c"),
            ("gcr.io/p/i", "gcr.io", "p/i"),
        ] {
            let repository = Repository::parse(text).unwrap();
            assert_eq!(
                (repository.host(), repository.name()),
                (host, name),
                "{text}"
            );
        }
        for bad in [
            "",
            "A",
            "a:tag",
            "a@sha256:1",
            "a//b",
            "h.x/",
            "../a",
            "h x.y/a",
            "a/..",
        ] {
            let words = Repository::parse(bad).unwrap_err().to_string();
            assert!(words.starts_with("source.repository "), "{words}");
        }
        let local = |text| Repository::parse(text).unwrap().is_local();
        assert!(local("127.0.0.1:5000/a") && local("localhost:1/a") && !local("10.0.0.1/a"));
        let mirrored = Repository::parse("busybox").unwrap().at("m.x").unwrap();
        assert_eq!(mirrored.to_string(), "m.x/library/busybox");
    }
}
