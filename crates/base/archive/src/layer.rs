//! One layer of an image, applied onto what the layers below it made.

use std::{io::Read, path::Path};

use crate::{
    Error, Limits,
    archive::Archive,
    remove,
    root::Root,
    unpack::{Rules, Writer},
};

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Further names with this beginning are bookkeeping of old layer formats.
const RESERVED: &[u8] = b".wh..wh.";

/// Applies an uncompressed layer to `dest`, which holds the merged layers below: whiteouts remove,
/// everything else is added or replaces. Device nodes are left out. Reads `tar` to its end.
///
/// An opaque marker stands ahead of its directory's new contents, as every known writer has it.
pub fn unpack_layer(tar: impl Read, dest: &Path, limits: &Limits) -> Result<(), Error> {
    let mut archive = Archive::new(tar, limits);
    let mut writer = Writer::new(Root::open(dest)?, Rules::Layer);
    while let Some(entry) = archive.next()? {
        let (folder, name) = split(&entry.name);
        if name == OPAQUE {
            let at = |source| Error::at(entry.display_name(), source);
            if let Ok(directory) = writer.root.directory(folder) {
                remove::empty(&directory).map_err(at)?;
            }
        } else if name.starts_with(RESERVED) {
            continue;
        } else if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            whiteout(&writer.root, folder, hidden)?;
        } else {
            writer.write(entry, &mut archive)?;
        }
    }
    writer.finish()?;
    archive.finish()
}

fn split(name: &[u8]) -> (&[u8], &[u8]) {
    let end = name
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |last| last + 1);
    match name[..end].iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&name[..slash], &name[slash + 1..end]),
        None => (b"", &name[..end]),
    }
}

fn whiteout(root: &Root, folder: &[u8], hidden: &[u8]) -> Result<(), Error> {
    let mut name = folder.to_vec();
    name.push(b'/');
    name.extend_from_slice(hidden);
    let display = || String::from_utf8_lossy(&name).into_owned();
    if hidden.is_empty() || hidden == b"." {
        return Err(Error::Escapes { name: display() });
    }
    match root.place(&name)? {
        Some(place) => place
            .remove()
            .map_err(|source| Error::at(display(), source)),
        None => Ok(()),
    }
}
