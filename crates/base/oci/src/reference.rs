//! Names of images, read as container runtimes read them: `busybox` is
//! `docker.io/library/busybox:latest`.
//!
//! Two names that mean the same image are equal here. Nothing else in the tree takes such names
//! apart.

use std::{fmt, net::IpAddr, str::FromStr};

use crate::{
    Digest, RepositoryName, Tag, TagOrDigest,
    host::{is_registry_host, names_registry, split_port},
    shortened,
};

/// Registry of names that name none.
pub const DOCKER_HUB: &str = "docker.io";
/// Host at which Docker Hub answers as a registry.
const DOCKER_HUB_API: &str = "index.docker.io";
/// Folder of names without a folder on Docker Hub.
const DOCKER_HUB_FOLDER: &str = "library/";
/// Stands before a port where a colon cannot be. No host has it.
const PORT_MARK: &str = "__";

/// An image as a node's runtime knows it: host, name, and a tag or a digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    repository: Repository,
    which: TagOrDigest,
}

/// A repository of a registry, such as `docker.io/library/busybox`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Repository {
    host: String,
    name: RepositoryName,
}

/// A text that names no image, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} does not name an image: {why}")]
pub struct BadReference {
    text: String,
    why: &'static str,
}

impl BadReference {
    fn new(text: &str, why: &'static str) -> Self {
        let text = shortened(text);
        Self { text, why }
    }

    /// Returns the reason without the text.
    pub fn why(&self) -> &'static str {
        self.why
    }
}

impl Reference {
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the tag or the digest.
    pub fn which(&self) -> &TagOrDigest {
        &self.which
    }

    pub fn digest(&self) -> Option<&Digest> {
        match &self.which {
            TagOrDigest::Digest(digest) => Some(digest),
            TagOrDigest::Tag(_) => None,
        }
    }

    /// Returns the image of this repository that has this content.
    pub fn at(&self, digest: &Digest) -> Self {
        self.repository.with(TagOrDigest::Digest(digest.clone()))
    }
}

impl Repository {
    /// Joins a registry and a name. The host need not look like one inside a longer name.
    pub fn new(host: &str, name: &str) -> Result<Self, BadReference> {
        if !is_registry_host(host) {
            return Err(BadReference::new(host, "its host is none"));
        }
        let host = match host {
            DOCKER_HUB_API => DOCKER_HUB,
            other => other,
        };
        let parsed = if host == DOCKER_HUB && !name.contains('/') {
            RepositoryName::parse(&format!("{DOCKER_HUB_FOLDER}{name}"))
        } else {
            RepositoryName::parse(name)
        };
        let why = "a name has at most 255 characters, and each part of it is made of lower-case \
                   letters and digits, with single `.`, `_`, `__` or any number of `-` between them";
        let name = parsed.map_err(|_| BadReference::new(name, why))?;
        let host = host.to_owned();
        Ok(Self { host, name })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns the host that answers as this registry.
    pub fn api_host(&self) -> &str {
        if self.is_on_docker_hub() {
            DOCKER_HUB_API
        } else {
            &self.host
        }
    }

    pub fn is_on_docker_hub(&self) -> bool {
        self.host == DOCKER_HUB
    }

    /// Returns true if the registry is on this machine.
    pub fn is_local(&self) -> bool {
        let host = split_port(&self.host).map_or("", |(host, _)| host);
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Returns the name as people write it: without what Docker Hub's names may leave out.
    pub fn familiar(&self) -> String {
        if self.is_on_docker_hub() {
            let name = self.name();
            name.strip_prefix(DOCKER_HUB_FOLDER)
                .unwrap_or(name)
                .to_owned()
        } else {
            self.to_string()
        }
    }

    pub fn with(&self, which: TagOrDigest) -> Reference {
        Reference {
            repository: self.clone(),
            which,
        }
    }

    /// Returns this repository inside a registry that has others' repositories under their hosts,
    /// such as `localhost:5001/docker.io/library/busybox`. The colon before a port, which no part
    /// of a name has, is `__` there. `None` for a host that cannot be written so.
    pub fn beneath(&self, host: &str) -> Option<Self> {
        let first = self.host.replacen(':', PORT_MARK, 1);
        let beneath: Self = format!("{host}/{first}/{}", self.name).parse().ok()?;
        (beneath.host == host).then_some(beneath)
    }

    /// Returns the repository that a name inside such a registry means.
    pub fn from_beneath(name: &str) -> Option<Self> {
        let (first, rest) = name.split_once('/')?;
        let host = first.replacen(PORT_MARK, ":", 1);
        let found: Self = format!("{host}/{rest}").parse().ok()?;
        (found.host == host).then_some(found)
    }
}

impl FromStr for Repository {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, name) = match text.split_once('/') {
            Some((host, name)) if names_registry(host) => (host, name),
            _ => (DOCKER_HUB, text),
        };
        Self::new(host, name).map_err(|error| BadReference::new(text, error.why))
    }
}

/// The parts of an image's name as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceParts<'a> {
    /// The repository, which was not looked at.
    pub repository: &'a str,
    pub tag: Option<Tag>,
    pub digest: Option<Digest>,
}

impl<'a> ReferenceParts<'a> {
    /// Takes `name`, `name:tag`, `name@digest` or `name:tag@digest` apart.
    pub fn split(text: &'a str) -> Result<Self, BadReference> {
        let bad = |why| BadReference::new(text, why);
        if text.is_empty() {
            return Err(bad("it is empty"));
        }
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => {
                let digest = Digest::parse(digest)
                    .map_err(|_| bad("behind `@` comes sha256: and 64 hexadecimal digits"))?;
                (named, Some(digest))
            }
            None => (text, None),
        };
        let (repository, tag) = match named.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (named, None),
        };
        let tag = tag
            .map(Tag::parse)
            .transpose()
            .map_err(|_| bad("a tag has at most 128 letters, digits, `_`, `.` and `-`"))?;
        Ok(Self {
            repository,
            tag,
            digest,
        })
    }
}

impl FromStr for Reference {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ReferenceParts {
            repository,
            tag,
            digest,
        } = ReferenceParts::split(text)?;
        let repository: Repository = repository
            .parse()
            .map_err(|error: BadReference| BadReference::new(text, error.why))?;
        // A name with both means the content; runtimes forget the tag then.
        let which = match (digest, tag) {
            (Some(digest), _) => TagOrDigest::Digest(digest),
            (None, tag) => TagOrDigest::Tag(tag.unwrap_or_else(Tag::latest)),
        };
        Ok(repository.with(which))
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            TagOrDigest::Tag(tag) => write!(f, "{}:{tag}", self.repository),
            TagOrDigest::Digest(digest) => write!(f, "{}@{digest}", self.repository),
        }
    }
}

#[cfg(test)]
mod tests;
