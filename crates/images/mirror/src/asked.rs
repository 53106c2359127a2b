//! The thing that a request asks for: a manifest or a blob of a repository of some registry.
//! Nothing but the request is read.

use airside_oci::{Digest, Repository, Tag, TagOrDigest};
use url::form_urlencoded;

/// One thing of one repository. Container runtimes name the registry as `?ns=HOST`; those that take
/// the mirror for the registry itself, as pods' images name it, have the host before the
/// repository's own name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskedThing {
    pub repository: Repository,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    Manifest(TagOrDigest),
    Blob(Digest),
}

/// The reason why a path names nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    #[error("a mirror serves manifests and blobs alone")]
    Endpoint,
    #[error("say which registry is meant, as in ?ns=docker.io or /v2/docker.io/library/busybox")]
    Registry,
    #[error("the path has no name of a repository that a registry could have")]
    Repository,
    #[error("the path ends neither with a tag nor with a sha256 digest")]
    Reference,
}

impl AskedThing {
    pub fn parse(path: &str, query: Option<&str>) -> Result<Self, NotAsked> {
        // Of all that may be encoded, clients encode the colon of a digest.
        let path = path.replace("%3A", ":").replace("%3a", ":");
        let rest = path.strip_prefix("/v2/").ok_or(NotAsked::Endpoint)?;
        let mut parts = rest.rsplitn(3, '/');
        let (Some(which), Some(kind), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(NotAsked::Endpoint);
        };
        let digest = Digest::parse(which);
        let what = match (kind, digest) {
            ("blobs", Ok(digest)) => What::Blob(digest),
            ("manifests", Ok(digest)) => What::Manifest(TagOrDigest::Digest(digest)),
            ("manifests", Err(_)) => {
                let tag = Tag::parse(which).map_err(|_| NotAsked::Reference)?;
                What::Manifest(TagOrDigest::Tag(tag))
            }
            ("blobs", Err(_)) => return Err(NotAsked::Reference),
            _ => return Err(NotAsked::Endpoint),
        };
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let host = pairs
            .into_iter()
            .find_map(|(key, value)| (key == "ns").then_some(value));
        let Some(host) = host else {
            let repository = Repository::from_beneath(name).ok_or(NotAsked::Registry)?;
            return Ok(Self { repository, what });
        };
        let repository: Repository = format!("{host}/{name}")
            .parse()
            .map_err(|_| NotAsked::Repository)?;
        // Otherwise the host was taken for a part of a name on the default one.
        if repository.host() == host || host == "index.docker.io" {
            Ok(Self { repository, what })
        } else {
            Err(NotAsked::Registry)
        }
    }

    /// Returns the path of the thing at its own registry.
    pub fn path(&self) -> String {
        let name = self.repository.name();
        match &self.what {
            What::Manifest(TagOrDigest::Tag(tag)) => format!("/v2/{name}/manifests/{tag}"),
            What::Manifest(TagOrDigest::Digest(digest)) => format!("/v2/{name}/manifests/{digest}"),
            What::Blob(digest) => format!("/v2/{name}/blobs/{digest}"),
        }
    }

    /// Returns the digest that was asked for; none for a tag.
    pub fn digest(&self) -> Option<&Digest> {
        match &self.what {
            What::Manifest(TagOrDigest::Tag(_)) => None,
            What::Manifest(TagOrDigest::Digest(digest)) | What::Blob(digest) => Some(digest),
        }
    }

    /// Returns the request for this manifest by its digest.
    pub(crate) fn at(&self, digest: &Digest) -> Self {
        Self {
            repository: self.repository.clone(),
            what: What::Manifest(TagOrDigest::Digest(digest.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_things() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (path, query, repository, shown) in [
            (
                "/v2/a/b/manifests/1",
                "ns=r.example",
                "r.example/a/b",
                "/v2/a/b/manifests/1".to_owned(),
            ),
            (
                &format!("/v2/busybox/blobs/{digest}"),
                "ns=docker.io",
                "docker.io/library/busybox",
                format!("/v2/library/busybox/blobs/{digest}"),
            ),
            (
                &format!("/v2/a/manifests/{}", digest.replace(':', "%3A")),
                "x=y&ns=10.0.0.1%3A5000",
                "10.0.0.1:5000/a",
                format!("/v2/a/manifests/{digest}"),
            ),
            (
                "/v2/manifests/manifests/x",
                "ns=localhost",
                "localhost/manifests",
                "/v2/manifests/manifests/x".to_owned(),
            ),
            (
                "/v2/docker.io/library/busybox/manifests/1",
                "",
                "docker.io/library/busybox",
                "/v2/library/busybox/manifests/1".to_owned(),
            ),
            (
                &format!("/v2/r.example__5000/a/blobs/{digest}"),
                "",
                "r.example:5000/a",
                format!("/v2/a/blobs/{digest}"),
            ),
        ] {
            let asked = AskedThing::parse(path, Some(query)).unwrap();
            assert_eq!(asked.repository.to_string(), repository);
            assert_eq!(asked.path(), shown);
        }
    }

    #[test]
    fn what_is_nothing() {
        use NotAsked::{Endpoint, Reference, Registry, Repository};
        for (path, query, error) in [
            ("/", "ns=r.example", Endpoint),
            ("/v2/", "ns=r.example", Endpoint),
            ("/v2/a/tags/list", "ns=r.example", Endpoint),
            ("/v2/a/blobs/uploads/", "ns=r.example", Endpoint),
            ("/v2/a/manifests/1", "", Registry),
            ("/v2/library/a/manifests/1", "", Registry),
            ("/v2/a/manifests/1", "ns=name", Registry),
            ("/v2/a/manifests/1", "ns=", Repository),
            ("/v2/a/manifests/1", "ns=r.example%2Fx", Registry),
            ("/v2/../a/manifests/1", "ns=r.example", Repository),
            ("/v2/A/manifests/1", "ns=r.example", Repository),
            ("/v2/a/manifests/1", "ns=r.example%23x.y", Repository),
            ("/v2/a/blobs/1", "ns=r.example", Reference),
            ("/v2/a/manifests/..", "ns=r.example", Reference),
        ] {
            assert_eq!(
                AskedThing::parse(path, Some(query)),
                Err(error),
                "{path}?{query}"
            );
        }
    }
}
