//! Single files out of a sealed volume.

use std::{fs::File, io, io::Read, path::Path};

use airside_model::VolumeId;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::{Error, Volumes};

impl Volumes {
    /// Reads the contents of one file; `None` if it is not there, or is not a file. Links are
    /// followed within the volume and never out of it: the step that made the tree is not trusted.
    pub fn read_file(
        &self,
        id: &VolumeId,
        path: &str,
        largest: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let root = self
            .path(id)
            .ok_or_else(|| Error::Missing { id: id.clone() })?;
        let Some(file) = open(&root, path)? else {
            return Ok(None);
        };
        let failed = |source| Error::at("read", &root.join(path))(source);
        let mut contents = Vec::new();
        file.take(largest + 1)
            .read_to_end(&mut contents)
            .map_err(failed)?;
        if contents.len() as u64 > largest {
            return Err(Error::FileTooLarge {
                path: path.to_owned(),
                largest,
            });
        }
        Ok(Some(contents))
    }
}

fn open(root: &Path, path: &str) -> Result<Option<File>, Error> {
    use rustix::io::Errno;
    let at = |errno: Errno| Error::at("read", &root.join(path))(io::Error::from(errno));
    let folder = rustix::fs::openat(
        CWD,
        root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(at)?;
    // A pipe without a writer must not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let file = match rustix::fs::openat2(folder, path, flags, Mode::empty(), within) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL | Errno::NXIO) => {
            return Ok(None);
        }
        Err(errno) => return Err(at(errno)),
    };
    let metadata = file.metadata().map_err(Error::at("read", root))?;
    Ok(metadata.is_file().then_some(file))
}
