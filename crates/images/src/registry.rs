//! Images from registries, by the resource type `registry-image`: there is one way to talk to registries, with its
//! credentials, mirrors, patience and words.

use std::{fs, path::Path};

use airside_model::Version;
use airside_resources::{CheckRequest, InRequest, Mirrors, Object, Privilege};
use serde::Deserialize;
use serde_json::Value;

use crate::{Digest, Error, assemble};

const TYPE: &str = "registry-image";

/// An image that was understood: where it comes from, and under what name. Its source may hold secrets.
#[derive(Clone)]
pub(crate) struct Image {
    /// As it was asked for.
    text: String,
    source: Object,
    tag: String,
    digest: Option<Digest>,
}

/// What `registry-image` says of an image beside its root file system.
#[derive(Deserialize)]
struct Metadata {
    env: Option<Vec<String>>,
    user: Option<String>,
}

impl Image {
    /// `name`, `name:tag`, `name@digest` or `name:tag@digest`, with what else its source says.
    pub(crate) fn parse(text: &str, source: &Object, mirrors: &Mirrors) -> Result<Self, Error> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(Digest::parse(digest)?)),
            None => (text, None),
        };
        let (repository, tag) = match name.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, tag),
            _ => (name, "latest"),
        };
        let mut source = source.clone();
        for (key, value) in [("repository", repository), ("tag", tag)] {
            source.insert(key.to_owned(), Value::String(value.to_owned()));
        }
        // The reference says which one; these would choose another.
        for key in ["semver_constraint", "variant", "pre_releases", "tag_regex"] {
            source.remove(key);
        }
        mirrors.apply(&mut source);
        Ok(Self {
            text: text.to_owned(),
            source,
            tag: tag.to_owned(),
            digest,
        })
    }

    /// The digest it names, if it names one.
    pub(crate) fn pinned(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// What its tag stands for now.
    pub(crate) fn resolve(&self) -> Result<Digest, Error> {
        let request = CheckRequest {
            source: self.source.clone(),
            version: None,
        };
        let found = airside_resources::check(TYPE, request, Privilege::of_this_process(), &mut Log)
            .map_err(|failure| self.explain(failure))?;
        let digest = found.last().and_then(|version| version.0.get("digest"));
        match digest {
            Some(digest) => Ok(Digest::parse(digest)?),
            None => Err(Error::Missing {
                what: self.text.clone(),
            }),
        }
    }

    /// Fetches it into `dir`, which the caller then puts into its place.
    pub(crate) fn fetch(&self, digest: &Digest, dir: &Path) -> Result<(), Error> {
        let wanted = digest.to_string();
        let request = InRequest {
            source: self.source.clone(),
            params: Object::new(),
            version: Version::from([("tag", self.tag.as_str()), ("digest", wanted.as_str())]),
        };
        airside_resources::fetch(TYPE, request, dir, &mut Log)
            .map_err(|failure| self.explain(failure))?;
        let path = dir.join("metadata.json");
        let text = fs::read(&path).map_err(Error::disk(&path))?;
        let metadata: Metadata = crate::layout::parse(&text, "metadata.json")?;
        let env = metadata.env.unwrap_or_default();
        assemble::keep(dir, env, metadata.user)?;
        tracing::info!(image = %digest, name = %self.text, "pulled an image");
        Ok(())
    }

    fn explain(&self, failure: airside_resources::Failure) -> Error {
        let what = self.text.clone();
        match failure {
            airside_resources::Failure::Io { path, error }
                if error.kind() == std::io::ErrorKind::StorageFull =>
            {
                let _ = error;
                Error::DiskFull { path }
            }
            failure => Error::Pull { what, failure },
        }
    }
}

/// What the type says on its way is for the server's log.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        tracing::debug!("{}", String::from_utf8_lossy(bytes).trim_end());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_taken_apart() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let read = |text: &str| {
            let image = Image::parse(text, &Object::new(), &Mirrors::default()).ok()?;
            let pinned = image.pinned().map(ToString::to_string);
            Some((json!(image.source), pinned))
        };
        for (text, repository, tag) in [
            ("busybox", "busybox", "latest"),
            ("busybox:1", "busybox", "1"),
            ("localhost:5000/a", "localhost:5000/a", "latest"),
            ("localhost:5000/a:b", "localhost:5000/a", "b"),
        ] {
            let source = json!({"repository": repository, "tag": tag});
            assert_eq!(read(text), Some((source.clone(), None)), "{text}");
            let pinned = read(&format!("{text}@{digest}"));
            assert_eq!(pinned, Some((source, Some(digest.clone()))), "{text}");
        }
        assert_eq!(read("a@sha256:1"), None);
    }
}
