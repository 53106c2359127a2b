//! Archives, recognized by how they begin.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use airside_archive::Limits;

use crate::{Failure, scratch::Scratch};

/// A bound on what a hostile archive can do to the disk.
const LIMITS: Limits = Limits {
    bytes: 64 << 30,
    entries: 4_000_000,
};

/// Offset of a tarball's mark.
const TAR_MARK: usize = 257;

/// Puts what is in an archive beside it. A tarball goes away then; a single compressed file keeps
/// its name, without the ending that says how it was compressed.
pub(super) fn unpack(archive: &Path) -> Result<(), Failure> {
    let folder = archive.parent().unwrap_or_else(|| Path::new("/"));
    let name = archive
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let file = File::open(archive).map_err(Failure::io(archive))?;
    let (mut reader, packed) =
        plain(BufReader::with_capacity(1 << 16, file), &name).map_err(Failure::io(archive))?;
    let is_tar = begins_tarball(&mut reader).map_err(Failure::io(archive))?;
    if !is_tar && !packed {
        return Err(Failure::params(
            "unpack",
            format!("cannot be done: {name} is neither a tarball nor compressed with gzip or zstd"),
        ));
    }
    if is_tar {
        // Aside first: the tarball may hold a file of its own name.
        let aside = Scratch::within(folder)?;
        let moved = aside.path().join("archive");
        fs::rename(archive, &moved).map_err(Failure::io(archive))?;
        return airside_archive::unpack_plain(reader, folder, &LIMITS)
            .map(|_| ())
            .map_err(|error| {
                Failure::said(format!(
                    "{name} cannot be unpacked: {}",
                    airside_model::chain(&error)
                ))
            });
    }
    let short = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let aside = Scratch::within(folder)?;
    let made = aside.path().join("file");
    let mut to = File::create(&made).map_err(Failure::io(&made))?;
    let copied = io::copy(&mut reader.take(LIMITS.bytes), &mut to);
    copied.map_err(|error| {
        Failure::said(format!(
            "{name} cannot be unpacked: {}",
            airside_model::chain(&error)
        ))
    })?;
    fs::remove_file(archive).map_err(Failure::io(archive))?;
    let target = folder.join(short.unwrap_or(&name));
    fs::rename(&made, &target).map_err(Failure::io(&target))
}

type Reader = BufReader<Box<dyn Read>>;

/// Returns the uncompressed contents, and true if there was a compression.
fn plain(mut reader: BufReader<File>, _name: &str) -> io::Result<(Reader, bool)> {
    let inner: Box<dyn Read> = match reader.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(reader)?),
        _ => return Ok((BufReader::with_capacity(1 << 16, Box::new(reader)), false)),
    };
    Ok((BufReader::with_capacity(1 << 16, inner), true))
}

fn begins_tarball(reader: &mut Reader) -> io::Result<bool> {
    // A decoder may hand out less at once than the mark needs.
    let mut first = Vec::new();
    reader.by_ref().take(512).read_to_end(&mut first)?;
    let found = first.get(TAR_MARK..TAR_MARK + 5) == Some(b"ustar");
    let rest = std::mem::replace(reader, BufReader::new(Box::new(io::empty())));
    let whole = io::Cursor::new(first).chain(rest);
    *reader = BufReader::with_capacity(1 << 16, Box::new(whole));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn tarball() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(5);
        builder
            .append_data(&mut header, "a/b", &b"hello"[..])
            .unwrap();
        builder.into_inner().unwrap()
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn archives_are_told_by_their_beginning() {
        for (name, bytes, made) in [
            ("x.tgz", gzip(&tarball()), "a/b"),
            ("x", tarball(), "a/b"),
            (
                "x.tar.zst",
                zstd::encode_all(&tarball()[..], 1).unwrap(),
                "a/b",
            ),
            ("x.txt.gz", gzip(b"hello"), "x.txt"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let archive = folder.path().join(name);
            fs::write(&archive, bytes).unwrap();
            unpack(&archive).unwrap();
            assert_eq!(
                fs::read_to_string(folder.path().join(made)).unwrap(),
                "hello"
            );
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("x.zip");
        fs::write(&archive, "PK").unwrap();
        let words = unpack(&archive).unwrap_err().to_string();
        assert!(words.starts_with("params.unpack"), "{words}");
    }
}
