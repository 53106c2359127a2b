//! A tree becomes a zstd-compressed tar.
//!
//! Names are sorted, so equal trees give equal bytes. A file with several names is packed once, and
//! its other names are hard links to the first. Extended attributes are not carried, and with them
//! nothing of overlayfs; its whiteouts are device nodes, which are left out like sockets.

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use tar::{EntryType, Header};

use crate::{Error, root::FileId};

const LEVEL: i32 = 1;
const BLOCK: usize = 512;
/// Bytes of a file that are read at once.
const BUFFER: usize = 128 * 1024;
const NAME_FIELD: usize = 100;

/// Writes the contents of `dir` (and the mode and owner of `dir` itself) to `out`.
pub fn pack(dir: &Path, out: impl Write) -> Result<(), Error> {
    let mut encoder = zstd::stream::write::Encoder::new(out, LEVEL).map_err(Error::Write)?;
    pack_plain(dir, &mut encoder)?;
    encoder
        .finish()
        .and_then(|mut out| out.flush())
        .map_err(Error::Write)
}

/// Packs a tree without compression: it stays on this machine, or is compressed by the caller.
pub fn pack_plain(dir: &Path, out: impl Write) -> Result<(), Error> {
    pack_chosen(dir, out, &Chosen::default())
}

/// The part of a tree that is packed, and the owner that its entries get.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'a> {
    /// User and group; none keeps those of each entry.
    pub(crate) owner: Option<(u32, u32)>,
    /// Returns true if the entry of this path below the root is left out, with all below it.
    pub(crate) is_left_out: &'a (dyn Fn(&Path) -> bool + Sync),
}

impl Default for Chosen<'_> {
    fn default() -> Self {
        Self {
            owner: None,
            is_left_out: &|_| false,
        }
    }
}

/// Packs the chosen part of a tree without compression.
pub(crate) fn pack_chosen(dir: &Path, out: impl Write, chosen: &Chosen<'_>) -> Result<(), Error> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let root =
        rustix::fs::open(dir, flags, Mode::empty()).map_err(|error| Error::at(dir, error))?;
    let mut packer = Packer {
        root: root.into(),
        out,
        buffer: vec![0; BUFFER],
        linked: HashMap::new(),
        chosen: *chosen,
    };
    packer.tree()?;
    packer.out.write_all(&[0; 2 * BLOCK]).map_err(Error::Write)
}

struct Packer<'a, W: Write> {
    root: File,
    out: W,
    buffer: Vec<u8>,
    /// The first name of each file that has several.
    linked: HashMap<FileId, PathBuf>,
    chosen: Chosen<'a>,
}

impl<W: Write> Packer<'_, W> {
    /// Depth first with a stack of our own: a hostile depth must not overflow the thread's.
    fn tree(&mut self) -> Result<(), Error> {
        let mut pending = vec![PathBuf::from(".")];
        while let Some(path) = pending.pop() {
            let dir = self.open(&path, OFlags::DIRECTORY)?;
            let stat = rustix::fs::fstat(&dir).map_err(|source| Error::at(&path, source))?;
            self.record(&path, &stat, EntryType::Directory, &[], 0)?;
            let mut subdirectories = Vec::new();
            for name in names(&dir, &path)? {
                let below = if path == Path::new(".") {
                    name.into()
                } else {
                    path.join(name)
                };
                if (self.chosen.is_left_out)(&below) {
                    continue;
                }
                if self.entry(&below)? == FileType::Directory {
                    subdirectories.push(below);
                }
            }
            pending.extend(subdirectories.into_iter().rev());
        }
        Ok(())
    }

    /// Packs anything but a directory, and says what it was.
    fn entry(&mut self, path: &Path) -> Result<FileType, Error> {
        let at = |source: rustix::io::Errno| Error::at(path, source);
        let handle = self.open(path, OFlags::PATH)?;
        let stat = rustix::fs::fstat(&handle).map_err(at)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        match kind {
            FileType::RegularFile => match self.first_name(path, &stat) {
                Some(first) => {
                    let first = first.as_os_str().as_bytes();
                    self.record(path, &stat, EntryType::Link, first, 0)?;
                }
                None => self.file(path)?,
            },
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&handle, "", Vec::new()).map_err(at)?;
                self.record(path, &stat, EntryType::Symlink, target.as_bytes(), 0)?;
            }
            FileType::Fifo => self.record(path, &stat, EntryType::Fifo, &[], 0)?,
            _ => {}
        }
        Ok(kind)
    }

    /// The name under which a file with several names was packed already. If it was not, this one
    /// is it.
    fn first_name(&mut self, path: &Path, stat: &Stat) -> Option<PathBuf> {
        if stat.st_nlink < 2 {
            return None;
        }
        match self.linked.entry(FileId::of(stat)) {
            Entry::Occupied(first) => Some(first.get().clone()),
            Entry::Vacant(place) => {
                place.insert(path.to_owned());
                None
            }
        }
    }

    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let file = self.open(path, OFlags::NONBLOCK)?;
        let stat = rustix::fs::fstat(&file).map_err(|source| Error::at(path, source))?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        self.record(path, &stat, EntryType::Regular, &[], size)?;
        if self.copy(&file, size).map_err(Error::Write)? != size {
            return Err(Error::Changed {
                path: path.to_owned(),
            });
        }
        self.pad(size)
    }

    /// Copies the first `size` bytes, or fewer if the file is shorter.
    fn copy(&mut self, mut file: &File, size: u64) -> io::Result<u64> {
        let mut copied = 0;
        while copied < size {
            let wanted = usize::try_from(size - copied).unwrap_or(usize::MAX);
            let fits = wanted.min(self.buffer.len());
            match file.read(&mut self.buffer[..fits]) {
                Ok(0) => break,
                Ok(read) => {
                    self.out.write_all(&self.buffer[..read])?;
                    copied += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(copied)
    }

    fn open(&self, path: &Path, flags: OFlags) -> Result<File, Error> {
        rustix::fs::openat2(
            &self.root,
            path,
            flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
        .map(File::from)
        .map_err(|source| Error::at(path, source))
    }

    fn record(
        &mut self,
        path: &Path,
        stat: &Stat,
        kind: EntryType,
        link: &[u8],
        size: u64,
    ) -> Result<(), Error> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(stat.st_mode & 0o7777);
        let (uid, gid) = self.chosen.owner.unwrap_or((stat.st_uid, stat.st_gid));
        header.set_uid(uid.into());
        header.set_gid(gid.into());
        header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
        header.set_size(size);
        let name = path.as_os_str().as_bytes();
        if link.len() > NAME_FIELD {
            self.long(EntryType::GNULongLink, link)?;
        }
        if name.len() > NAME_FIELD {
            self.long(EntryType::GNULongName, name)?;
        }
        let fields = header.as_old_mut();
        fill(&mut fields.linkname, link);
        fill(&mut fields.name, name);
        header.set_cksum();
        self.out.write_all(header.as_bytes()).map_err(Error::Write)
    }

    /// A name too long for its field goes ahead of the entry, as GNU tar has it.
    fn long(&mut self, kind: EntryType, name: &[u8]) -> Result<(), Error> {
        let size = name.len() as u64 + 1;
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        fill(&mut header.as_old_mut().name, b"././@LongLink");
        header.set_cksum();
        self.out
            .write_all(header.as_bytes())
            .map_err(Error::Write)?;
        self.out.write_all(name).map_err(Error::Write)?;
        self.out.write_all(&[0]).map_err(Error::Write)?;
        self.pad(size)
    }

    fn pad(&mut self, size: u64) -> Result<(), Error> {
        let over = (size % BLOCK as u64) as usize;
        let padding = if over == 0 { 0 } else { BLOCK - over };
        self.out
            .write_all(&[0; BLOCK][..padding])
            .map_err(Error::Write)
    }
}

fn fill(field: &mut [u8], bytes: &[u8]) {
    let fits = bytes.len().min(field.len());
    field[..fits].copy_from_slice(&bytes[..fits]);
}

fn names(dir: &File, path: &Path) -> Result<Vec<OsString>, Error> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir).map_err(|source| Error::at(path, source))? {
        let entry = entry.map_err(|source| Error::at(path, source))?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(OsString::from_vec(name.as_bytes().to_vec()));
        }
    }
    names.sort();
    Ok(names)
}
