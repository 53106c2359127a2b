//! The proof that a source's registry serves an image: its documents, and the user that they name.

use std::io::Write;

use airside_oci::Digest;
use serde::{Deserialize, Serialize};

use super::{
    image,
    settings::{Source, tag_is_fine},
};
use crate::{Failure, Object, registry::Registry};

/// The longest user that an image may name, in bytes: a name and a group of Linux fit four times.
const MAX_USER: usize = 256;

/// An image whose manifest and configuration a registry served. Their digests were found right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedImage {
    pub digest: Digest,
    /// The `USER` of the image, unless it is empty.
    pub user: Option<String>,
}

impl ServedImage {
    /// Refuses a user that no image can mean.
    pub fn check(&self) -> Result<(), String> {
        let user = self.user.as_deref().unwrap_or_default();
        if user.len() > MAX_USER || user.chars().any(char::is_control) {
            return Err(format!(
                "the image's configuration names a user of {} bytes, or one with control \
                 characters: build the image with a USER of at most {MAX_USER} bytes",
                user.len()
            ));
        }
        Ok(())
    }
}

/// Reads the documents of an image, named by a tag or a digest, where the source says that it is.
/// An index leads to the image for the source's platform, or to the first one for Linux.
pub fn served_image(
    source: Object,
    reference: &str,
    log: &mut dyn Write,
) -> Result<ServedImage, Failure> {
    let source = Source::read(source)?;
    if Digest::parse(reference).is_err() && !tag_is_fine(reference) {
        return Err(Failure::said(format!(
            "{reference:?} is neither a tag nor a digest"
        )));
    }
    let read = source.ask(log, |registry, _| read(&source, registry, reference))?;
    let missing = || Failure::no_image(format!("{reference} of {}", source.name()));
    let image = read.ok_or_else(missing)?;
    image.check().map_err(Failure::said)?;
    Ok(image)
}

fn read(
    source: &Source,
    registry: &Registry,
    reference: &str,
) -> Result<Option<ServedImage>, Failure> {
    let digest = match Digest::parse(reference) {
        Ok(digest) => digest,
        Err(_) => match registry.resolve(reference)? {
            Some(digest) => digest,
            None => return Ok(None),
        },
    };
    let image = image::resolve_rather(registry, &digest, &source.platform(None))?;
    let user = image.config(registry)?.config.user;
    let user = user.filter(|user| !user.is_empty());
    Ok(Some(ServedImage { digest, user }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_users_are_refused() {
        let image = |user: Option<&str>| ServedImage {
            digest: Digest::of_sha256([0; 32]),
            user: user.map(str::to_owned),
        };
        for fine in [None, Some("1000"), Some("app:staff"), Some("täglich")] {
            assert_eq!(image(fine).check(), Ok(()), "{fine:?}");
        }
        let long = "u".repeat(MAX_USER + 1);
        for bad in ["a\nb", "a\0", long.as_str()] {
            assert!(image(Some(bad)).check().is_err(), "{bad:?}");
        }
    }
}
