//! One repository: which of all that is kept it has, and under which names.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use airside_oci::Digest;

use super::{make_folder, touch};
use crate::{Error, Tag};

pub(super) struct Links {
    folder: PathBuf,
}

impl Links {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn exists(&self) -> bool {
        self.place("_blobs").is_dir() || self.place("_manifests").is_dir()
    }

    fn place(&self, kind: &str) -> PathBuf {
        self.folder.join(kind)
    }

    fn made(&self, kind: &str) -> Result<PathBuf, Error> {
        let place = self.place(kind);
        make_folder(&place)?;
        Ok(place)
    }

    pub(super) fn has_blob(&self, digest: &Digest) -> bool {
        self.place("_blobs").join(digest.hex()).exists()
    }

    pub(super) fn add_blob(&self, digest: &Digest) -> Result<(), Error> {
        mark(&self.made("_blobs")?.join(digest.hex()))
    }

    pub(super) fn remove_blob(&self, digest: &Digest) -> Result<bool, Error> {
        remove(&self.place("_blobs").join(digest.hex()))
    }

    pub(super) fn blobs(&self) -> Result<Vec<(Digest, SystemTime)>, Error> {
        digests(&self.place("_blobs"))
    }

    pub(super) fn has_manifest(&self, digest: &Digest) -> bool {
        self.place("_manifests").join(digest.hex()).exists()
    }

    pub(super) fn add_manifest(
        &self,
        digest: &Digest,
        media_type: &str,
        write: impl Fn(&Path, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        write(&self.made("_manifests")?.join(digest.hex()), media_type)
    }

    /// Returns the manifest's media type, if the manifest is here, and makes it count as used now.
    pub(super) fn use_manifest(&self, digest: &Digest) -> Result<Option<String>, Error> {
        let path = self.place("_manifests").join(digest.hex());
        let found = read(&path)?;
        if found.is_some() {
            touch(&path)?;
        }
        Ok(found)
    }

    pub(super) fn media_type(&self, digest: &Digest) -> Result<Option<String>, Error> {
        read(&self.place("_manifests").join(digest.hex()))
    }

    pub(super) fn remove_manifest(&self, digest: &Digest) -> Result<bool, Error> {
        remove(&self.place("_manifests").join(digest.hex()))
    }

    pub(super) fn manifests(&self) -> Result<Vec<(Digest, SystemTime)>, Error> {
        digests(&self.place("_manifests"))
    }

    pub(super) fn tag(&self, tag: &Tag) -> Result<Option<Digest>, Error> {
        let text = read(&self.place("_tags").join(tag.as_str()))?;
        let digest = text.map(|text| Digest::parse(text.trim())).transpose()?;
        Ok(digest)
    }

    pub(super) fn add_tag(
        &self,
        tag: &Tag,
        digest: &Digest,
        write: impl Fn(&Path, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        write(&self.made("_tags")?.join(tag.as_str()), &digest.to_string())
    }

    pub(super) fn remove_tag(&self, tag: &Tag) -> Result<bool, Error> {
        remove(&self.place("_tags").join(tag.as_str()))
    }

    pub(super) fn remove_tags_of(&self, digest: &Digest) -> Result<(), Error> {
        for tag in self.tags()? {
            let tag = Tag::parse(&tag)?;
            if self.tag(&tag)?.as_ref() == Some(digest) {
                self.remove_tag(&tag)?;
            }
        }
        Ok(())
    }

    pub(super) fn tags(&self) -> Result<Vec<String>, Error> {
        let mut tags: Vec<String> = entries(&self.place("_tags"))?
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        tags.sort();
        Ok(tags)
    }

    fn about(&self, subject: &Digest) -> PathBuf {
        self.place("_referrers").join(subject.hex())
    }

    pub(super) fn add_referrer(&self, subject: &Digest, digest: &Digest) -> Result<(), Error> {
        let folder = self.about(subject);
        make_folder(&folder)?;
        mark(&folder.join(digest.hex()))
    }

    pub(super) fn referrers(&self, subject: &Digest) -> Result<Vec<Digest>, Error> {
        let found = digests(&self.about(subject))?;
        let mut found: Vec<Digest> = found.into_iter().map(|(digest, _)| digest).collect();
        found.sort_by(|a, b| a.hex().cmp(b.hex()));
        Ok(found)
    }

    pub(super) fn remove_referrer(&self, subject: &Digest, digest: &Digest) -> Result<(), Error> {
        remove(&self.about(subject).join(digest.hex()))?;
        // Others may be about it too.
        let _ = fs::remove_dir(self.about(subject));
        Ok(())
    }
}

/// An empty file that says by its time when it was last written.
fn mark(path: &Path) -> Result<(), Error> {
    fs::write(path, b"").map_err(Error::at("write", path))?;
    touch(path)
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Error::at("read", path)(error)),
    }
}

fn remove(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(Error::at("remove", path)(error)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn digests(folder: &Path) -> Result<Vec<(Digest, SystemTime)>, Error> {
    let found = entries(folder)?.into_iter();
    Ok(found
        .filter_map(|(name, time)| {
            let digest = crate::Digest::parse(&format!("sha256:{name}"));
            Some((digest.ok()?, time))
        })
        .collect())
}

/// Returns the entries of a folder with their times; none if there is no folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<(String, SystemTime)>, Error> {
    let at = || Error::at("list", folder);
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(at()(error)),
    };
    let mut found = Vec::new();
    for entry in listed {
        let entry = entry.map_err(at())?;
        // Another task may have removed it just now.
        if let (Ok(name), Ok(time)) = (
            entry.file_name().into_string(),
            entry.metadata().and_then(|found| found.modified()),
        ) {
            found.push((name, time));
        }
    }
    Ok(found)
}
