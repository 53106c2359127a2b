//! Names of images, read as container runtimes read them: `busybox` is `docker.io/library/busybox:latest`.
//!
//! Two names that mean the same image are equal here. Nothing else in the tree takes such names apart for nodes.

use std::{fmt, str::FromStr};

use airside_model::image::{Digest, is_name_part, is_tag};

const DOCKER_HUB: &str = "docker.io";
const LATEST: &str = "latest";
/// Before a port where a colon cannot be. No host has it.
const PORT_MARK: &str = "__";
/// What a registry takes, without the host.
const LONGEST_NAME: usize = 255;

/// An image as a node's runtime knows it: host, name, and a tag or a digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    repository: Repository,
    which: Which,
}

/// Where images of one name are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Repository {
    host: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Which {
    Tag(String),
    Digest(Digest),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no image: {why}")]
pub struct BadReference {
    text: String,
    why: &'static str,
}

impl Reference {
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn which(&self) -> &Which {
        &self.which
    }

    pub fn digest(&self) -> Option<&Digest> {
        match &self.which {
            Which::Digest(digest) => Some(digest),
            Which::Tag(_) => None,
        }
    }

    /// The same repository's image with this content.
    pub fn at(&self, digest: &Digest) -> Self {
        self.repository.with(Which::Digest(digest.clone()))
    }
}

impl Repository {
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn with(&self, which: Which) -> Reference {
        Reference {
            repository: self.clone(),
            which,
        }
    }

    /// Where it is in a registry that has others' repositories under their hosts, such as
    /// `localhost:5001/docker.io/library/busybox`. The colon before a port, which no part of a name has, is `__` there.
    /// Nothing for a host that cannot be written so.
    pub fn beneath(&self, host: &str) -> Option<Self> {
        let first = self.host.replacen(':', PORT_MARK, 1);
        let beneath: Self = format!("{host}/{first}/{}", self.name).parse().ok()?;
        (beneath.host == host).then_some(beneath)
    }

    /// What a name in such a registry means.
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
        let bad = |why| BadReference {
            text: text.to_owned(),
            why,
        };
        let (host, name) = match text.split_once('/') {
            Some((host, name)) if is_host(host) => (host, name),
            _ => (DOCKER_HUB, text),
        };
        let host = match host {
            "index.docker.io" => DOCKER_HUB,
            other => other,
        };
        if !host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
        {
            return Err(bad("its host has characters that no host has"));
        }
        let name = match host == DOCKER_HUB && !name.contains('/') {
            true => format!("library/{name}"),
            false => name.to_owned(),
        };
        if name.len() > LONGEST_NAME {
            return Err(bad("its name is longer than 255 characters"));
        }
        match name.split('/').all(is_name_part) {
            true => Ok(Self {
                host: host.to_owned(),
                name,
            }),
            false => Err(bad(
                "each part of a name is made of lower-case letters and digits, with single `.`, `_`, `__` or any \
                 number of `-` between them",
            )),
        }
    }
}

impl FromStr for Reference {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |why| BadReference {
            text: text.to_owned(),
            why,
        };
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
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(bad(
                "a tag has at most 128 letters, digits, `_`, `.` and `-`",
            ));
        }
        let repository: Repository = repository
            .parse()
            .map_err(|error: BadReference| bad(error.why))?;
        // Whoever gives both means the content; runtimes forget the tag then.
        let which = match (digest, tag) {
            (Some(digest), _) => Which::Digest(digest),
            (None, tag) => Which::Tag(tag.unwrap_or(LATEST).to_owned()),
        };
        Ok(repository.with(which))
    }
}

/// The first part of a name is a host if it could not be a part of a name on the default one.
fn is_host(text: &str) -> bool {
    text.contains(['.', ':'])
        || text == "localhost"
        || text.bytes().any(|byte| byte.is_ascii_uppercase())
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::Tag(tag) => write!(f, "{}:{tag}", self.repository),
            Which::Digest(digest) => write!(f, "{}@{digest}", self.repository),
        }
    }
}

#[cfg(test)]
mod tests;
