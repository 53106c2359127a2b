//! The endpoint of a path. Nothing but the path is read.

use airside_oci::Digest;

use crate::{Error, RepositoryName, TagOrDigest};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Is this a registry, and may I use it?
    Version,
    /// A token for one scope, by another one.
    Token,
    Blob(RepositoryName, Digest),
    Manifest(RepositoryName, TagOrDigest),
    Uploads(RepositoryName),
    Upload(RepositoryName, String),
    Tags(RepositoryName),
    Referrers(RepositoryName, Digest),
}

impl Route {
    pub(crate) fn parse(path: &str) -> Result<Self, Error> {
        // Of all that may be encoded, clients encode the colon of a digest.
        let path = path.replace("%3A", ":").replace("%3a", ":");
        if matches!(path.as_str(), "/v2" | "/v2/") {
            return Ok(Self::Version);
        }
        if path == "/v2/token" {
            return Ok(Self::Token);
        }
        let rest = path.strip_prefix("/v2/").ok_or(Error::Endpoint)?;
        let parts: Vec<&str> = rest.split('/').collect();
        let named = |count: usize| -> Result<RepositoryName, Error> {
            Ok(RepositoryName::parse(
                &parts[..parts.len() - count].join("/"),
            )?)
        };
        match parts.as_slice() {
            [_, .., "blobs", "uploads", ""] => Ok(Self::Uploads(named(3)?)),
            [_, .., "blobs", "uploads", id] => Ok(Self::Upload(named(3)?, (*id).to_owned())),
            [_, .., "blobs", "uploads"] => Ok(Self::Uploads(named(2)?)),
            [_, .., "blobs", digest] => Ok(Self::Blob(named(2)?, Digest::parse(digest)?)),
            [_, .., "manifests", reference] => {
                Ok(Self::Manifest(named(2)?, TagOrDigest::parse(reference)?))
            }
            [_, .., "tags", "list"] => Ok(Self::Tags(named(2)?)),
            [_, .., "referrers", digest] => Ok(Self::Referrers(named(2)?, Digest::parse(digest)?)),
            _ => Err(Error::Endpoint),
        }
    }

    /// Returns the repository of the endpoint; none if it is about the registry as a whole.
    pub(crate) fn repository(&self) -> Option<&RepositoryName> {
        match self {
            Self::Version | Self::Token => None,
            Self::Blob(repository, _)
            | Self::Manifest(repository, _)
            | Self::Uploads(repository)
            | Self::Upload(repository, _)
            | Self::Tags(repository)
            | Self::Referrers(repository, _) => Some(repository),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_endpoints() {
        let hex = "a".repeat(64);
        let repository = RepositoryName::parse("team/main/a").unwrap();
        let digest = Digest::parse(&format!("sha256:{hex}")).unwrap();
        let r = || repository.clone();
        for (path, expected) in [
            ("/v2/".to_owned(), Route::Version),
            ("/v2".to_owned(), Route::Version),
            ("/v2/token".to_owned(), Route::Token),
            (
                format!("/v2/team/main/a/blobs/sha256:{hex}"),
                Route::Blob(r(), digest.clone()),
            ),
            (
                format!("/v2/team/main/a/blobs/sha256%3a{hex}"),
                Route::Blob(r(), digest.clone()),
            ),
            (
                "/v2/team/main/a/blobs/uploads/".to_owned(),
                Route::Uploads(r()),
            ),
            (
                "/v2/team/main/a/blobs/uploads".to_owned(),
                Route::Uploads(r()),
            ),
            (
                "/v2/team/main/a/blobs/uploads/1f".to_owned(),
                Route::Upload(r(), "1f".to_owned()),
            ),
            ("/v2/team/main/a/tags/list".to_owned(), Route::Tags(r())),
            (
                format!("/v2/team/main/a/referrers/sha256:{hex}"),
                Route::Referrers(r(), digest),
            ),
        ] {
            assert_eq!(Route::parse(&path).unwrap(), expected, "{path}");
        }
        let tagged = Route::parse("/v2/a/manifests/latest").unwrap();
        assert_eq!(tagged.repository().unwrap().as_str(), "a");
    }

    #[test]
    fn what_is_none() {
        for (path, code) in [
            ("/", "NAME_UNKNOWN"),
            ("/v1/a/manifests/x", "NAME_UNKNOWN"),
            ("/v2/a", "NAME_UNKNOWN"),
            ("/v2/manifests/x", "NAME_UNKNOWN"),
            ("/v2/../a/manifests/x", "NAME_INVALID"),
            ("/v2/a/%2e%2e/manifests/x", "NAME_INVALID"),
            ("/v2/A/tags/list", "NAME_INVALID"),
            ("/v2/a/blobs/sha256:12", "DIGEST_INVALID"),
            ("/v2/a/blobs/../../x", "NAME_UNKNOWN"),
            ("/v2/a/manifests/..", "MANIFEST_INVALID"),
            ("/v2/a/manifests/md5:0", "DIGEST_INVALID"),
        ] {
            let error = Route::parse(path).unwrap_err();
            assert_eq!(error.code(), code, "{path}: {error}");
        }
    }
}
