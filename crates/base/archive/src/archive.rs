//! Reads tar entry by entry, with every length bounded before it is believed.
//!
//! The tar crate's own iterator reads long names of any size into memory; hence this one.

use std::io::{self, Read};

use tar::{EntryType, Header};

use crate::{Error, Limits, pax::Pax};

const BLOCK: u64 = 512;
/// Room for the longest path and link there can be, and then some.
const MAX_EXTENSION: u64 = 1 << 20;
/// Longest trailer that is read. Writers fill their last record, and no writer fills more.
const MAX_TRAILER: u64 = 1 << 20;

pub(crate) struct ArchiveEntry {
    pub name: Vec<u8>,
    pub link: Vec<u8>,
    pub kind: EntryType,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub mtime: u64,
}

impl ArchiveEntry {
    pub(crate) fn display_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }
}

pub(crate) struct Archive<R> {
    input: R,
    limits: Limits,
    /// Bytes of the current entry's data that were not read yet.
    unread: u64,
    padding: u64,
    bytes: u64,
    entries: u64,
}

#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    pax: Pax,
}

impl<R: Read> Archive<R> {
    pub(crate) fn new(input: R, limits: &Limits) -> Self {
        Self {
            input,
            limits: *limits,
            unread: 0,
            padding: 0,
            bytes: 0,
            entries: 0,
        }
    }

    /// The next entry; its contents, if wanted, come from [`Archive::data`].
    pub(crate) fn next(&mut self) -> Result<Option<ArchiveEntry>, Error> {
        let mut extensions = Extensions::default();
        loop {
            self.skip()?;
            let Some(header) = self.header()? else {
                return Ok(None);
            };
            let size = header
                .entry_size()
                .map_err(|_| Error::damaged("an entry has no size"))?;
            match header.entry_type() {
                EntryType::GNULongName => extensions.name = Some(text(self.extension(size)?)),
                EntryType::GNULongLink => extensions.link = Some(text(self.extension(size)?)),
                EntryType::XHeader => extensions.pax = Pax::parse(&self.extension(size)?)?,
                EntryType::XGlobalHeader => drop(self.extension(size)?),
                _ => return self.entry(&header, extensions, size).map(Some),
            }
        }
    }

    /// The contents of the entry that was returned last.
    pub(crate) fn data(&mut self) -> Data<'_, R> {
        Data(self)
    }

    /// Reads the bytes behind the end mark, so that a reader that hashes the stream sees all of it.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let mut trailer = self.input.by_ref().take(MAX_TRAILER + 1);
        let read = io::copy(&mut trailer, &mut io::sink()).map_err(Error::Read)?;
        if read > MAX_TRAILER {
            return Err(Error::damaged("there is data behind its end"));
        }
        Ok(())
    }

    fn entry(
        &mut self,
        header: &Header,
        found: Extensions,
        size: u64,
    ) -> Result<ArchiveEntry, Error> {
        let number = |value: io::Result<u64>| value.unwrap_or(0);
        let id = |pax: Option<u64>, plain| {
            u32::try_from(pax.unwrap_or_else(|| number(plain)))
                .map_err(|_| Error::damaged("an owner's id is out of range"))
        };
        let pax = found.pax;
        let link = || header.link_name_bytes().map(|link| link.into_owned());
        let entry = ArchiveEntry {
            name: pax
                .path
                .or(found.name)
                .unwrap_or_else(|| header.path_bytes().into_owned()),
            link: pax.link.or(found.link).or_else(link).unwrap_or_default(),
            kind: header.entry_type(),
            mode: header.mode().unwrap_or(0o644) & 0o7777,
            uid: id(pax.uid, header.uid())?,
            gid: id(pax.gid, header.gid())?,
            mtime: pax.mtime.unwrap_or_else(|| number(header.mtime())),
        };
        if pax.sparse || entry.kind == EntryType::GNUSparse {
            let name = entry.display_name();
            return Err(Error::Unsupported {
                name,
                kind: "sparse file".to_owned(),
            });
        }
        self.count(pax.size.unwrap_or(size))?;
        Ok(entry)
    }

    fn count(&mut self, size: u64) -> Result<(), Error> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(Error::TooManyEntries {
                limit: self.limits.entries,
            });
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.bytes {
            return Err(Error::TooManyBytes {
                limit: self.limits.bytes,
            });
        }
        self.expect(size);
        Ok(())
    }

    fn expect(&mut self, size: u64) {
        self.unread = size;
        self.padding = (BLOCK - size % BLOCK) % BLOCK;
    }

    fn extension(&mut self, size: u64) -> Result<Vec<u8>, Error> {
        if size > MAX_EXTENSION {
            return Err(Error::damaged(
                "a name is longer than any file system allows",
            ));
        }
        self.expect(size);
        let mut data = Vec::new();
        self.data().read_to_end(&mut data).map_err(Error::Read)?;
        Ok(data)
    }

    /// Passes over what was left unread of the entry before.
    fn skip(&mut self) -> Result<(), Error> {
        io::copy(&mut self.data(), &mut io::sink()).map_err(Error::Read)?;
        let padding = std::mem::take(&mut self.padding);
        let skipped = io::copy(&mut self.input.by_ref().take(padding), &mut io::sink());
        if skipped.map_err(Error::Read)? < padding {
            return Err(Error::damaged("it ends in the middle of an entry"));
        }
        Ok(())
    }

    fn header(&mut self) -> Result<Option<Header>, Error> {
        let mut header = Header::new_old();
        let block = header.as_mut_bytes();
        let mut filled = 0;
        while filled < block.len() {
            match self.input.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(Error::damaged("it ends in the middle of a header")),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Read(error)),
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = |from: &[u8]| from.iter().map(|byte| u32::from(*byte)).sum::<u32>();
        let expected = sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]);
        if header.cksum().ok() != Some(expected) {
            return Err(Error::damaged("a header's checksum is wrong"));
        }
        Ok(Some(header))
    }
}

fn text(mut name: Vec<u8>) -> Vec<u8> {
    let end = name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(name.len());
    name.truncate(end);
    name
}

pub(crate) struct Data<'a, R>(&'a mut Archive<R>);

impl<R: Read> Read for Data<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer
            .len()
            .min(usize::try_from(self.0.unread).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.0.input.read(&mut buffer[..wanted])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.0.unread -= read as u64;
        Ok(read)
    }
}
