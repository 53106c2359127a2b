//! An image on disk that is to be pushed: an OCI layout in a folder or a tarball, or what `docker
//! save` makes.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
};

use airside_archive::Hasher;
use airside_oci::{Descriptor, Digest, Document, MAX_INDEX_DEPTH, media_type};
use serde::Deserialize;
use serde_json::json;

use super::layout::SINGLE;
use crate::{Failure, registry::parse_document, scratch::Scratch};

/// No document in a tarball is larger.
const MAX_DOCUMENT: u64 = 16 << 20;
/// Manifests of all indexes of one image.
const MAX_MANIFESTS: usize = 4096;

/// A manifest or an index as it is stored.
pub(super) struct StoredDocument {
    pub(super) digest: Digest,
    pub(super) media_type: String,
    pub(super) bytes: Vec<u8>,
    content: Document,
}

impl StoredDocument {
    fn new(bytes: Vec<u8>, name: &str) -> Result<Self, Failure> {
        let content = parse_document(&bytes, name)?;
        Ok(Self {
            digest: Digest::of_bytes(&bytes),
            media_type: content.kind().to_owned(),
            content,
            bytes,
        })
    }
}

pub(super) struct Bundle {
    store: Store,
    /// The document that gets the tag.
    pub(super) top: StoredDocument,
    /// The documents that it names, which are pushed before it.
    pub(super) below: Vec<StoredDocument>,
    pub(super) blobs: Vec<Descriptor>,
}

impl Bundle {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let store = if path.is_dir() {
            Store::Folder(path.to_owned())
        } else {
            Store::tarball(path)?
        };
        match store {
            Store::Tarball { .. } if store.has("manifest.json") => Self::docker(store),
            store => Self::layout(store),
        }
    }

    pub(super) fn blob(&self, blob: &Digest) -> Result<(Box<dyn Read>, u64), Failure> {
        self.store.open(&format!("blobs/sha256/{}", blob.hex()))
    }

    fn layout(store: Store) -> Result<Self, Failure> {
        let mut top = StoredDocument::new(store.read("index.json")?, "index.json")?;
        if store.has(SINGLE) {
            let text = String::from_utf8_lossy(&store.read(SINGLE)?)
                .trim()
                .to_owned();
            top = store.document(&Digest::parse(&text)?)?;
        }
        // An index of nothing but another index stands for that.
        for _ in 0..MAX_INDEX_DEPTH {
            let Document::Index(index) = &top.content else {
                break;
            };
            let [only] = &index.manifests[..] else { break };
            let inner = store.document(&only.digest)?;
            match inner.content {
                Document::Index(_) => top = inner,
                Document::Manifest(_) => break,
            }
        }
        let (mut below, mut blobs) = (Vec::new(), Vec::new());
        collect(&store, &top, &mut below, &mut blobs, MAX_INDEX_DEPTH)?;
        Ok(Self {
            store,
            top,
            below,
            blobs,
        })
    }

    /// A manifest is made from what `docker save` wrote; layers that are not compressed are now.
    fn docker(store: Store) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Saved {
            config: String,
            layers: Vec<String>,
        }
        let saved: Vec<Saved> =
            serde_json::from_slice(&store.read("manifest.json")?).map_err(|error| {
                Failure::said(format!(
                    "manifest.json cannot be read: {}",
                    airside_model::chain(&error)
                ))
            })?;
        let [saved] = &saved[..] else {
            let words = format!(
                "the tarball holds {} images: push one at a time",
                saved.len()
            );
            return Err(Failure::said(words));
        };
        let scratch = Scratch::new()?;
        let mut made = Made::new(scratch.path())?;
        let config = made.add(store.open(&saved.config)?.0, false)?;
        let mut layers = Vec::new();
        for layer in &saved.layers {
            layers.push(made.add(store.open(layer)?.0, true)?);
        }
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type::DOCKER_MANIFEST,
            "config": config,
            "layers": layers,
        });
        let mut blobs = layers;
        blobs.push(config);
        Ok(Self {
            store: Store::Made { scratch },
            top: StoredDocument::new(manifest.to_string().into_bytes(), "the image")?,
            below: Vec::new(),
            blobs,
        })
    }
}

/// Everything that a document leads to.
fn collect(
    store: &Store,
    document: &StoredDocument,
    below: &mut Vec<StoredDocument>,
    blobs: &mut Vec<Descriptor>,
    depth: u32,
) -> Result<(), Failure> {
    match &document.content {
        Document::Manifest(manifest) => blobs.extend(manifest.blobs().cloned()),
        Document::Index(_) if depth == 0 || below.len() > MAX_MANIFESTS => {
            return Err(Failure::said("the image's indexes lead nowhere"));
        }
        Document::Index(index) => {
            for entry in &index.manifests {
                let inner = store.document(&entry.digest)?;
                collect(store, &inner, below, blobs, depth - 1)?;
                below.push(inner);
            }
        }
    }
    Ok(())
}

/// The location of an image's files.
enum Store {
    Folder(PathBuf),
    Tarball {
        path: PathBuf,
        places: HashMap<PathBuf, (u64, u64)>,
    },
    Made {
        scratch: Scratch,
    },
}

impl Store {
    fn tarball(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(Failure::io(path))?;
        let mut archive = tar::Archive::new(file);
        let (mut places, mut links) = (HashMap::new(), Vec::new());
        let entries = archive.entries_with_seek().map_err(Failure::io(path))?;
        for entry in entries {
            let entry = entry.map_err(|error| {
                Failure::said(format!(
                    "{} is not an image in a tarball: {error}",
                    path.display(),
                    error = airside_model::chain(&error)
                ))
            })?;
            let name = entry.path().map_err(Failure::io(path))?;
            let name = clean(Path::new(""), &name);
            let link = entry.link_name().map_err(Failure::io(path))?;
            match link {
                Some(link) if entry.header().entry_type().is_symlink() => {
                    let folder = name.parent().unwrap_or_else(|| Path::new("")).to_owned();
                    links.push((name, clean(&folder, &link)));
                }
                Some(link) => links.push((name, clean(Path::new(""), &link))),
                None => {
                    places.insert(name, (entry.raw_file_position(), entry.size()));
                }
            }
        }
        for (name, target) in links {
            if let Some(place) = places.get(&target).copied() {
                places.insert(name, place);
            }
        }
        let path = path.to_owned();
        Ok(Self::Tarball { path, places })
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Folder(folder) => folder.join(name).is_file(),
            Self::Tarball { places, .. } => places.contains_key(Path::new(name)),
            Self::Made { scratch } => scratch.path().join(name).is_file(),
        }
    }

    fn open(&self, name: &str) -> Result<(Box<dyn Read>, u64), Failure> {
        let missing = || Failure::said(format!("the image is damaged: it has no {name}"));
        let whole = |folder: &Path| {
            let path = folder.join(clean(Path::new(""), Path::new(name)));
            let file = File::open(&path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => missing(),
                _ => Failure::Io {
                    path: path.clone(),
                    error,
                },
            })?;
            let size = file.metadata().map_err(Failure::io(&path))?.len();
            let reader: Box<dyn Read> = Box::new(file);
            Ok((reader, size))
        };
        match self {
            Self::Folder(folder) => whole(folder),
            Self::Made { scratch } => whole(scratch.path()),
            Self::Tarball { path, places } => {
                let name = clean(Path::new(""), Path::new(name));
                let (start, size) = *places.get(&name).ok_or_else(missing)?;
                let mut file = File::open(path).map_err(Failure::io(path))?;
                file.seek(SeekFrom::Start(start))
                    .map_err(Failure::io(path))?;
                Ok((Box::new(file.take(size)), size))
            }
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let (reader, _) = self.open(name)?;
        let mut bytes = Vec::new();
        let read = reader.take(MAX_DOCUMENT).read_to_end(&mut bytes);
        read.map_err(Failure::io(Path::new(name)))?;
        Ok(bytes)
    }

    fn document(&self, digest: &Digest) -> Result<StoredDocument, Failure> {
        let bytes = self.read(&format!("blobs/sha256/{}", digest.hex()))?;
        let document = StoredDocument::new(bytes, &digest.to_string())?;
        if document.digest == *digest {
            Ok(document)
        } else {
            Err(Failure::said(format!(
                "the image is damaged: {digest} is something else"
            )))
        }
    }
}

/// A path without anything that leads up or out.
fn clean(folder: &Path, name: &Path) -> PathBuf {
    let mut path = folder.to_owned();
    for component in name.components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::ParentDir => drop(path.pop()),
            _ => {}
        }
    }
    path
}

/// Blobs that are made here.
struct Made {
    blobs: PathBuf,
}

impl Made {
    fn new(folder: &Path) -> Result<Self, Failure> {
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(Failure::io(&blobs))?;
        Ok(Self { blobs })
    }

    fn add(&mut self, from: impl Read, is_layer: bool) -> Result<Descriptor, Failure> {
        let path = self.blobs.join("new");
        let file = File::create(&path).map_err(Failure::io(&path))?;
        let mut from = io::BufReader::with_capacity(1 << 16, from);
        let mut hasher = Hasher::new(file);
        let first = io::BufRead::fill_buf(&mut from).map_err(Failure::io(&path))?;
        let packed =
            first.starts_with(&[0x1f, 0x8b]) || first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let zstd = first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        if is_layer && !packed {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::GzEncoder::new(&mut hasher, level);
            let written =
                io::copy(&mut from, &mut encoder).and_then(|_| encoder.finish().map(|_| ()));
            written.map_err(Failure::io(&path))?;
        } else {
            io::copy(&mut from, &mut hasher).map_err(Failure::io(&path))?;
        }
        let digest = hasher.finish().1;
        let to = self.blobs.join(&digest.sha256);
        fs::rename(&path, &to).map_err(Failure::io(&to))?;
        let kind = match (is_layer, zstd) {
            (false, _) => media_type::DOCKER_CONFIG,
            (true, false) => media_type::DOCKER_LAYER_GZIP,
            (true, true) => media_type::DOCKER_LAYER_ZSTD,
        };
        let name = Digest::parse(&format!("sha256:{}", digest.sha256))?;
        Ok(Descriptor::new(kind, name, digest.bytes))
    }
}
