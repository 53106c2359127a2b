//! A folder of blobs, and how to find the image in it.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use airside_archive::HashingReader;
use airside_oci::{Descriptor, Document, Index, MAX_INDEX_DEPTH, Manifest, Platform};

use crate::{Digest, Error, wire::Layer};

/// Bytes of a configuration, beyond any in use; a layer is never read whole.
const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The image for this machine.
    pub(crate) fn image(&self) -> Result<(Digest, Manifest), Error> {
        let path = self.root.join("index.json");
        let text = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if self.root.is_dir() => Error::NoLayout {
                path: self.root.clone(),
            },
            io::ErrorKind::NotFound => Error::Missing {
                what: self.root.display().to_string(),
            },
            _ => Error::Disk {
                path: path.clone(),
                source,
            },
        })?;
        let Document::Index(mut index) = parse_document(&text, "index.json")? else {
            return Err(Error::NoLayout {
                path: self.root.clone(),
            });
        };
        for _ in 0..MAX_INDEX_DEPTH {
            let found = self.choose(&index)?.digest.clone();
            match parse_document(&self.document(&found)?, &found.to_string())? {
                Document::Manifest(manifest) => return Ok((found, manifest)),
                Document::Index(below) => index = below,
            }
        }
        Err(Error::Damaged {
            what: "its indexes lead nowhere".to_owned(),
        })
    }

    /// The image that was fetched for a digest: each document on the way is what its digest says.
    pub(crate) fn brought(&self, digest: &Digest) -> Result<Manifest, Error> {
        let mut digest = digest.clone();
        for _ in 0..MAX_INDEX_DEPTH {
            match parse_document(&self.document(&digest)?, &digest.to_string())? {
                Document::Manifest(manifest) => return Ok(manifest),
                Document::Index(index) => {
                    let here = |found: &&Descriptor| self.blob(&found.digest).exists();
                    let found = index.manifests.iter().find(here);
                    let missing = || Error::Damaged {
                        what: format!("nothing that {digest} names was fetched"),
                    };
                    digest = found.ok_or_else(missing)?.digest.clone();
                }
            }
        }
        Err(Error::Damaged {
            what: "its indexes lead nowhere".to_owned(),
        })
    }

    /// The layers of an image and where they are.
    pub(crate) fn layers(&self, manifest: &Manifest) -> Result<Vec<Layer>, Error> {
        let layer = |layer: &Descriptor| {
            // A missing one is reported here.
            self.open(&layer.digest)?;
            Ok(Layer {
                path: self.blob(&layer.digest),
                digest: layer.digest.clone(),
                media_type: layer.media_type.clone(),
            })
        };
        manifest.layers.iter().map(layer).collect()
    }

    /// Checks that all layers are files with the contents that their digests say: a process that
    /// was taken over while it fetched them must not decide what this image is.
    pub(crate) fn verify_layers(&self, manifest: &Manifest) -> Result<(), Error> {
        for layer in &manifest.layers {
            verify(self.open(&layer.digest)?, &layer.digest)?;
        }
        Ok(())
    }

    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs/sha256").join(digest.hex())
    }

    pub(crate) fn open(&self, digest: &Digest) -> Result<HashingReader<File>, Error> {
        let path = self.blob(digest);
        let opened = fs::metadata(&path).and_then(|found| {
            if found.is_file() {
                File::open(&path)
            } else {
                Err(io::Error::other("it is not a file"))
            }
        });
        match opened {
            Ok(file) => Ok(HashingReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Damaged {
                what: format!("the blob {digest} is missing"),
            }),
            Err(error) => Err(Error::disk(&path)(error)),
        }
    }

    /// A small blob whole, and what it should be.
    pub(crate) fn document(&self, digest: &Digest) -> Result<Vec<u8>, Error> {
        let mut reader = self.open(digest)?;
        let mut text = Vec::new();
        (&mut reader)
            .take(MAX_DOCUMENT_BYTES)
            .read_to_end(&mut text)
            .map_err(Error::disk(&self.root))?;
        verify(reader, digest)?;
        Ok(text)
    }

    fn choose<'a>(&self, index: &'a Index) -> Result<&'a Descriptor, Error> {
        let here = Platform::here();
        index.for_platform(&here).ok_or_else(|| Error::NoPlatform {
            what: self.root.display().to_string(),
            platform: here.to_string(),
        })
    }
}

fn parse_document(text: &[u8], what: &str) -> Result<Document, Error> {
    Document::parse(text).map_err(|error| Error::Damaged {
        what: format!("{what}: {}", airside_model::chain(&error)),
    })
}

/// Reads a document of our own.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(text: &[u8], what: &str) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| Error::Damaged {
        what: format!("{what} cannot be read: {}", airside_model::chain(&error)),
    })
}

/// Reads what is left and compares.
pub(crate) fn verify(mut reader: HashingReader<File>, digest: &Digest) -> Result<(), Error> {
    io::copy(&mut reader, &mut io::sink()).map_err(Error::disk(Path::new(digest.hex())))?;
    let actual = reader.finish().1.sha256;
    if actual == digest.hex() {
        return Ok(());
    }
    Err(Error::Mismatch {
        expected: digest.clone(),
        actual,
    })
}
