//! A packed tree back onto the disk.

use std::{
    collections::HashSet,
    io::{self, Read},
    path::Path,
};

use tar::EntryType;

use crate::{
    Error, Limits,
    archive::{Archive, ArchiveEntry},
    root::{self, FileId, Root, TreePlace},
};

/// Unpacks what [`crate::pack()`] wrote (or any zstd-compressed tar) into the directory `dest`, and
/// reads `input` to its end. On an error `dest` holds a part of the tree: the caller removes it.
pub fn unpack(input: impl Read, dest: &Path, limits: &Limits) -> Result<(), Error> {
    let decoder = zstd::stream::read::Decoder::new(input).map_err(Error::Read)?;
    unpack_plain(decoder, dest, limits)
}

/// Unpacks a tar that is not compressed, or is decompressed by the caller.
pub fn unpack_plain(tar: impl Read, dest: &Path, limits: &Limits) -> Result<(), Error> {
    let mut archive = Archive::new(tar, limits);
    let mut writer = Writer::new(Root::open(dest)?, Rules::Volume);
    while let Some(entry) = archive.next()? {
        writer.write(entry, &mut archive)?;
    }
    writer.finish()?;
    archive.finish()
}

/// The kind of tree that an archive is, which says what may be in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Device nodes are refused, and a hard link names an earlier file of the same archive.
    Volume,
    /// Device nodes are left out, as containers get a fresh `/dev`; a hard link may name a file of
    /// a layer below.
    Layer,
}

pub(crate) struct Writer {
    pub root: Root,
    rules: Rules,
    /// The files of this archive, which its hard links may name.
    files: HashSet<FileId>,
    /// Modes and times of directories wait until nothing more is written below them.
    directories: Vec<ArchiveEntry>,
}

impl Writer {
    pub(crate) fn new(root: Root, rules: Rules) -> Self {
        Self {
            root,
            rules,
            files: HashSet::new(),
            directories: Vec::new(),
        }
    }

    pub(crate) fn write(
        &mut self,
        entry: ArchiveEntry,
        archive: &mut Archive<impl Read>,
    ) -> Result<(), Error> {
        let Some(place) = self.root.place(&entry.name)? else {
            return self.write_root(entry);
        };
        let at = |source| Error::at(entry.display_name(), source);
        match entry.kind {
            EntryType::Regular | EntryType::Continuous => {
                let mut file = place.make_file().map_err(at)?;
                if self.rules == Rules::Volume {
                    let stat = rustix::fs::fstat(&file).map_err(|error| at(error.into()))?;
                    self.files.insert(FileId::of(&stat));
                }
                io::copy(&mut archive.data(), &mut file).map_err(at)?;
                root::dress(&file, &entry).map_err(at)
            }
            EntryType::Directory => {
                place.check_depth()?;
                place.make_directory().map_err(at)?;
                self.directories.push(entry);
                Ok(())
            }
            EntryType::Symlink => {
                place.make_symlink(&entry.link).map_err(at)?;
                place.dress_link(&entry).map_err(at)
            }
            EntryType::Link => self.link(&place, &entry),
            EntryType::Fifo => {
                place.make_fifo(entry.mode).map_err(at)?;
                place.dress_link(&entry).map_err(at)
            }
            EntryType::Char | EntryType::Block if self.rules == Rules::Layer => Ok(()),
            EntryType::Char | EntryType::Block => Err(Error::Device {
                name: entry.display_name(),
            }),
            kind => Err(Error::Unsupported {
                name: entry.display_name(),
                kind: format!("tar type {:?}", char::from(kind.as_byte())),
            }),
        }
    }

    fn write_root(&mut self, entry: ArchiveEntry) -> Result<(), Error> {
        if entry.kind != EntryType::Directory {
            return Err(Error::Escapes {
                name: entry.display_name(),
            });
        }
        self.directories.push(entry);
        Ok(())
    }

    fn link(&self, place: &TreePlace, entry: &ArchiveEntry) -> Result<(), Error> {
        let escapes = || Error::Escapes {
            name: entry.display_name(),
        };
        let at = |source| Error::at(entry.display_name(), source);
        let target = match self.rules {
            Rules::Volume => self.root.place_without_links(&entry.link)?,
            Rules::Layer => self.root.place(&entry.link)?,
        };
        let target = target.ok_or_else(escapes)?;
        if self.rules == Rules::Volume && !self.files.contains(&target.identity().map_err(at)?) {
            return Err(Error::ForeignLink {
                name: entry.display_name(),
            });
        }
        place.make_link(&target).map_err(at)
    }

    /// Deepest first, as writing a mode or time below would change the time above.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let mut done = HashSet::new();
        for entry in self.directories.iter().rev() {
            // Named twice: the later entry holds.
            if !done.insert(entry.name.as_slice()) {
                continue;
            }
            let directory = match self.root.directory(&entry.name) {
                // A later entry replaced it.
                Err(Error::Path { .. }) => continue,
                other => other?,
            };
            root::dress(&directory, entry)
                .map_err(|source| Error::at(entry.display_name(), source))?;
        }
        Ok(())
    }
}
