//! Images from registries, by the resource type `registry-image`: there is one way to talk to
//! registries, with its credentials, mirrors, patience and words. Confined processes walk it.

use airside_oci::{ReferenceParts, Tag};
use airside_resource_types::{Mirrors, Object};
use serde_json::{Value, json};

use crate::{Digest, Error, wire::PullerAnswer};

/// An image that was understood: where it comes from, and under what name. Its source may hold
/// secrets.
#[derive(Clone)]
pub(crate) struct Image {
    /// The reference as it was asked for.
    text: String,
    source: Object,
    digest: Option<Digest>,
}

impl Image {
    /// `name`, `name:tag`, `name@digest` or `name:tag@digest`, with what else its source says.
    pub(crate) fn parse(text: &str, source: &Object, mirrors: &Mirrors) -> Result<Self, Error> {
        let parts = ReferenceParts::split(text)?;
        let tag = parts.tag.unwrap_or_else(Tag::latest).to_string();
        let mut source = source.clone();
        for (key, value) in [("repository", parts.repository.to_owned()), ("tag", tag)] {
            source.insert(key.to_owned(), Value::String(value));
        }
        // The reference says which one; these would choose another.
        for key in ["semver_constraint", "variant", "pre_releases", "tag_regex"] {
            source.remove(key);
        }
        mirrors.apply(&mut source);
        Ok(Self {
            text: text.to_owned(),
            source,
            digest: parts.digest,
        })
    }

    /// The digest it names, if it names one.
    pub(crate) fn pinned(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The name as it was asked for.
    pub(crate) fn name(&self) -> &str {
        &self.text
    }

    /// The source of `registry-image`, with its secrets.
    pub(crate) fn source(&self) -> &Object {
        &self.source
    }

    /// Returns true if its registry, or a mirror that the source names, gets a login.
    pub(crate) fn has_login(&self) -> bool {
        airside_resource_types::has_login(&self.source)
    }

    /// The repository and whose it is, as a text to compare.
    pub(crate) fn repository(&self) -> String {
        let part = |key| self.source.get(key);
        json!([
            part("repository"),
            part("aws_region"),
            part("aws_account_id")
        ])
        .to_string()
    }

    /// Returns the reason why the image could not be pulled.
    pub(crate) fn explain(&self, answer: PullerAnswer) -> Error {
        match answer {
            PullerAnswer::NotPulled { words, fault } => Error::Pull {
                what: self.text.clone(),
                words,
                fault,
            },
            other => Error::confined(format!("it answered another question: {other:?}")),
        }
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
