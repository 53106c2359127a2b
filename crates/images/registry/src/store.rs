//! The registry's folder.
//!
//! ```text
//! root/blobs/HEX                                  contents, once each; manifests too
//! root/repositories/NAME/_blobs/HEX               NAME may serve this blob
//! root/repositories/NAME/_manifests/HEX           and this manifest: media type, time of use
//! root/repositories/NAME/_tags/TAG                holds a digest
//! root/repositories/NAME/_referrers/HEX/HEX       the second manifest is about the first
//! root/tmp/…                                      on its way; swept when opened
//! ```
//!
//! Everything comes into being by a rename or as an empty file, so that it is whole or not there.
//! No part of a name begins with `_`. Everything here blocks.

mod collect;
mod links;
mod usage;

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use airside_model::Quotas;
use airside_oci::Digest;
use airside_volumes::{Disk, Watermarks};
use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};

use self::{links::Links, usage::Usage};
use crate::{
    Error, RepositoryName, TagOrDigest, clock,
    manifest::{Manifest, Referrer},
};

pub(crate) struct Store {
    root: PathBuf,
    marks: Watermarks,
    next: AtomicU64,
    usage: Usage,
    /// Read by a task that adds a blob, written by the collector: no blob is removed between its
    /// arrival and its first link.
    gate: RwLock<()>,
}

/// A manifest as it is served.
pub(crate) struct FoundBlob {
    pub(crate) digest: Digest,
    pub(crate) media_type: String,
    pub(crate) text: Vec<u8>,
}

impl Store {
    pub(crate) fn open(root: &Path, marks: Watermarks) -> Result<Self, Error> {
        let tmp = root.join("tmp");
        airside_archive::set_aside(&tmp).map_err(Error::at("sweep", &tmp))?;
        for folder in ["blobs", "repositories", "tmp"] {
            make_folder(&root.join(folder))?;
        }
        Ok(Self {
            root: root.to_owned(),
            marks,
            next: AtomicU64::new(0),
            usage: Usage::default(),
            gate: RwLock::new(()),
        })
    }

    /// Returns a store in which teams may not have more than these quotas.
    pub(crate) fn with_quotas(self, quotas: Quotas) -> Self {
        let usage = Usage::new(quotas);
        Self { usage, ..self }
    }

    /// The bytes that a team uses.
    pub(crate) fn used_by(&self, team: &str) -> Result<u64, Error> {
        self.usage.of(&self.root, team)
    }

    /// Fails if the disk is too full for more.
    pub(crate) fn has_room(&self) -> Result<(), Error> {
        let disk = Disk::of(&self.root).map_err(Error::at("measure", &self.root))?;
        if disk.is_above(self.marks.high) {
            Err(Error::DiskFull)
        } else {
            Ok(())
        }
    }

    /// A name for a file that is on its way.
    pub(crate) fn fresh(&self) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.root.join("tmp").join(number.to_string())
    }

    /// Makes a file whose content has the `digest` a blob of the repository. Returns true if the
    /// blob is new.
    pub(crate) fn adopt(
        &self,
        file: &Path,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> Result<bool, Error> {
        let _gate = self.gate.read();
        if !self.has_blob(repository, digest) {
            let size = fs::metadata(file).map_err(Error::at("read", file))?.len();
            self.usage.admit(&self.root, repository, size)?;
        }
        let is_new = self.settle(file, digest)?;
        self.links(repository).add_blob(digest)?;
        Ok(is_new)
    }

    fn settle(&self, file: &Path, digest: &Digest) -> Result<bool, Error> {
        let place = self.blob_path(digest);
        if place.exists() {
            touch(&place)?;
            fs::remove_file(file).map_err(Error::at("remove", file))?;
            return Ok(false);
        }
        fs::rename(file, &place).map_err(Error::at("keep", &place))?;
        Ok(true)
    }

    pub(crate) fn has_blob(&self, repository: &RepositoryName, digest: &Digest) -> bool {
        self.links(repository).has_blob(digest) && self.blob_path(digest).exists()
    }

    pub(crate) fn blob(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> Result<(File, u64), Error> {
        let unknown = || Error::NoBlob(repository.clone(), digest.clone());
        let links = self.links(repository);
        if !links.has_blob(digest) && !links.has_manifest(digest) {
            return Err(unknown());
        }
        let path = self.blob_path(digest);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown()),
            Err(error) => return Err(Error::at("open", &path)(error)),
        };
        let size = file.metadata().map_err(Error::at("read", &path))?.len();
        Ok((file, size))
    }

    /// Lets another repository serve a blob too. Whether there was one.
    pub(crate) fn mount(
        &self,
        from: &RepositoryName,
        to: &RepositoryName,
        digest: &Digest,
    ) -> Result<bool, Error> {
        let _gate = self.gate.read();
        if !self.has_blob(from, digest) {
            return Ok(false);
        }
        let blob = self.blob_path(digest);
        if !self.has_blob(to, digest) {
            let size = fs::metadata(&blob).map_err(Error::at("read", &blob))?.len();
            self.usage.admit(&self.root, to, size)?;
        }
        touch(&blob)?;
        self.links(to).add_blob(digest)?;
        Ok(true)
    }

    pub(crate) fn delete_blob(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> Result<(), Error> {
        self.usage.forget();
        if self.links(repository).remove_blob(digest)? {
            Ok(())
        } else {
            Err(Error::NoBlob(repository.clone(), digest.clone()))
        }
    }

    /// Keeps a manifest whose parts are all there.
    pub(crate) fn put_manifest(
        &self,
        repository: &RepositoryName,
        reference: &TagOrDigest,
        text: &[u8],
        manifest: &Manifest,
    ) -> Result<Digest, Error> {
        let actual = hex::encode(Sha256::digest(text));
        let digest = crate::Digest::parse(&format!("sha256:{actual}"))?;
        if let TagOrDigest::Digest(expected) = reference
            && *expected != digest
        {
            let expected = expected.clone();
            return Err(Error::Mismatch { expected, actual });
        }
        let _gate = self.gate.read();
        let links = self.links(repository);
        let lost = |digest: &&Digest| !self.has_blob(repository, digest);
        let orphan = |digest: &&Digest| !links.has_manifest(digest);
        let missing = manifest.blobs.iter().find(lost);
        if let Some(missing) = missing.or_else(|| manifest.manifests.iter().find(orphan)) {
            return Err(Error::Dangling(repository.clone(), missing.clone()));
        }
        let file = self.fresh();
        write(&file, text)?;
        self.settle(&file, &digest)?;
        let write_link = |path: &Path, text: &str| self.write_link(path, text);
        links.add_manifest(&digest, &manifest.media_type, write_link)?;
        if let Some(subject) = &manifest.subject {
            links.add_referrer(subject, &digest)?;
        }
        if let TagOrDigest::Tag(tag) = reference {
            links.add_tag(tag, &digest, write_link)?;
        }
        Ok(digest)
    }

    /// A small file that is whole or not there.
    fn write_link(&self, path: &Path, text: &str) -> Result<(), Error> {
        let file = self.fresh();
        write(&file, text.as_bytes())?;
        fs::rename(&file, path).map_err(Error::at("write", path))
    }

    /// Finds one, and counts it as used.
    pub(crate) fn manifest(
        &self,
        repository: &RepositoryName,
        reference: &TagOrDigest,
    ) -> Result<FoundBlob, Error> {
        let unknown = || Error::NoManifest(repository.clone(), reference.to_string());
        let links = self.links(repository);
        let digest = match reference {
            TagOrDigest::Digest(digest) => digest.clone(),
            TagOrDigest::Tag(tag) => links.tag(tag)?.ok_or_else(unknown)?,
        };
        let media_type = links.use_manifest(&digest)?.ok_or_else(unknown)?;
        let text = self.read_blob(&digest)?.ok_or_else(unknown)?;
        Ok(FoundBlob {
            digest,
            media_type,
            text,
        })
    }

    pub(crate) fn delete_manifest(
        &self,
        repository: &RepositoryName,
        reference: &TagOrDigest,
    ) -> Result<(), Error> {
        let _gate = self.gate.read();
        let links = self.links(repository);
        let there = match reference {
            TagOrDigest::Tag(tag) => links.remove_tag(tag)?,
            TagOrDigest::Digest(digest) => {
                links.remove_tags_of(digest)?;
                links.remove_manifest(digest)?
            }
        };
        if there {
            Ok(())
        } else {
            Err(Error::NoManifest(repository.clone(), reference.to_string()))
        }
    }

    /// Returns the tags in the order of their names.
    pub(crate) fn tags(&self, repository: &RepositoryName) -> Result<Vec<String>, Error> {
        let links = self.links(repository);
        if !links.exists() {
            return Err(Error::NoRepository(repository.clone()));
        }
        links.tags()
    }

    /// Returns the manifests that refer to a manifest, which need not be there itself.
    pub(crate) fn referrers(
        &self,
        repository: &RepositoryName,
        subject: &Digest,
    ) -> Result<Vec<Referrer>, Error> {
        let mut found = Vec::new();
        for digest in self.links(repository).referrers(subject)? {
            let reference = TagOrDigest::Digest(digest);
            if let Ok(manifest) = self.manifest(repository, &reference) {
                let size = manifest.text.len() as u64;
                let parsed = Manifest::parse(&manifest.text, &manifest.media_type)?;
                found.push(parsed.referrer(&manifest.digest, size));
            }
        }
        Ok(found)
    }

    fn read_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
        let path = self.blob_path(digest);
        match fs::read(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at("read", &path)(error)),
        }
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs").join(digest.hex())
    }

    fn links(&self, repository: &RepositoryName) -> Links {
        Links::new(self.root.join("repositories").join(repository.as_str()))
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(Error::at("make", path))
}

fn write(path: &Path, text: &[u8]) -> Result<(), Error> {
    let mut file = File::create(path).map_err(Error::at("write", path))?;
    let written = file.write_all(text).and_then(|()| file.sync_data());
    written.map_err(Error::at("write", path))
}

/// Makes the file count as used now.
fn touch(path: &Path) -> Result<(), Error> {
    let touched = File::open(path).and_then(|file| file.set_modified(clock::now()));
    touched.map_err(Error::at("touch", path))
}
