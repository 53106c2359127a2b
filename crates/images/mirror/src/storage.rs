//! Storages of a mirror: content by its digest, and small notes by their names.
//!
//! Several mirrors may share one storage. A digest determines its content, so two mirrors that
//! store equal content do no harm, and content that was removed under a reader is fetched again. A
//! storage does not know what the content is.

use std::{
    io,
    path::Path,
    pin::Pin,
    time::{Duration, SystemTime},
};

use airside_oci::{Digest, Repository};
use async_trait::async_trait;
use bytes::Bytes;
use futures::Stream;

pub(crate) type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

#[async_trait]
pub trait Storage: Send + Sync {
    /// Returns the size of content; none if it is not kept. Counts as a use of it.
    async fn size(&self, digest: &Digest) -> io::Result<Option<u64>>;

    /// So many bytes from there on; [`io::ErrorKind::NotFound`] if it went meanwhile.
    async fn read(&self, digest: &Digest, from: u64, length: u64) -> io::Result<Pieces>;

    /// Takes the file, whose content has that digest, as whole as it is.
    async fn keep(&self, digest: &Digest, file: &Path) -> io::Result<()>;

    async fn note(&self, name: &NoteName) -> io::Result<Option<Note>>;

    async fn write_note(&self, name: &NoteName, text: &str) -> io::Result<()>;

    async fn notes(&self) -> io::Result<Vec<Noted>>;

    /// Removes a note. A note that is gone already is not an error.
    async fn remove_note(&self, name: &NoteName) -> io::Result<()>;

    /// Everything that is kept.
    async fn list(&self) -> io::Result<Vec<KeptContent>>;

    /// Removes content. Content that is gone already is not an error.
    async fn remove(&self, digest: &Digest) -> io::Result<()>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptContent {
    pub digest: Digest,
    pub size: u64,
    pub used: SystemTime,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub text: String,
    pub age: Duration,
}

/// A note in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub name: NoteName,
    pub age: Duration,
}

/// Made of names that were checked: nothing in it leads out of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteName(String);

impl NoteName {
    /// Name of the note that a repository has this content; its text is the content's type, if that
    /// matters.
    pub(crate) fn link(repository: &Repository, digest: &Digest) -> Self {
        Self(format!("links/{repository}/_/{}", digest.hex()))
    }

    /// Name of the note with the last digest of a tag.
    pub(crate) fn tag(repository: &Repository, tag: &str) -> Self {
        Self(format!("tags/{repository}/_/{tag}"))
    }

    /// Name of the note that the registry serves the repository without a login.
    pub(crate) fn public(repository: &Repository) -> Self {
        Self(format!("public/{repository}/_/anybody"))
    }

    /// Name of a note from a storage's own list.
    pub(crate) fn listed(text: String) -> Self {
        Self(text)
    }

    /// The content that it is about, if it is a link.
    pub(crate) fn linked(&self) -> Option<Digest> {
        let (_, hex) = self.0.strip_prefix("links/")?.rsplit_once("/_/")?;
        Digest::parse(&format!("sha256:{hex}")).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
