//! The process's output that the hub has not acknowledged. Never loses a byte: when it is full it
//! says so, and the reader of the process's streams waits.
//!
//! ```text
//! acknowledged ─┐             ┌─ spilled                     ┌─ end
//!               ▼             ▼                              ▼
//!     forgotten │ disk (old)  │ memory (new, sent at once)   │
//! ```
//!
//! As long as the hub keeps up, nothing touches the disk: the memory holds more than can be on its
//! way there. A terminal gives a few kilobytes at a time: what follows on the same stream joins the
//! record before it, so that a message carries more the less the hub keeps up. The memory of full
//! records is used again: to get it anew from the kernel, page by page, would cost as much as
//! sending it.

mod disk;

use std::{borrow::Cow, collections::VecDeque, io, path::PathBuf};

use airside_model::event::Source;
use airside_protocol::codec::MAX_PAYLOAD;

use self::disk::{Disk, Spilled};
use crate::log::log;

/// Bytes that a record in memory costs besides its own.
const OVERHEAD: usize = 64;

/// Number of empty records that are kept for later output.
const SPARE: usize = 16;

#[derive(Clone, Copy)]
struct Limits {
    /// The most that one record holds.
    record: usize,
    memory: usize,
    disk: u64,
    segment: u64,
}

const LIMITS: Limits = Limits {
    record: MAX_PAYLOAD,
    memory: 4 << 20,
    disk: 256 << 20,
    segment: 8 << 20,
};

/// Output in memory; the last one grows.
struct Record {
    offset: u64,
    source: Source,
    data: Vec<u8>,
}

impl Record {
    fn end(&self) -> u64 {
        self.offset + self.data.len() as u64
    }

    /// Returns the piece from `offset` on.
    fn rest(&self, offset: u64) -> Piece<'_> {
        let skip = offset.saturating_sub(self.offset) as usize;
        Piece {
            offset: self.offset + skip as u64,
            source: self.source,
            data: self.data[skip..].into(),
        }
    }
}

/// Output of one stream, at most one message of it.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) offset: u64,
    pub(crate) source: Source,
    pub(crate) data: Cow<'a, [u8]>,
}

pub(crate) struct Spool {
    limits: Limits,
    disk: Disk,
    memory: VecDeque<Record>,
    memory_used: usize,
    spare: Vec<Vec<u8>>,
    acknowledged: u64,
    end: u64,
}

impl Spool {
    /// A spool that keeps its files, which have no names, on the file system of `folder`.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self::limited(folder, LIMITS)
    }

    fn limited(folder: PathBuf, limits: Limits) -> Self {
        Self {
            limits,
            disk: Disk::new(folder, limits.segment),
            memory: VecDeque::new(),
            memory_used: 0,
            spare: Vec::new(),
            acknowledged: 0,
            end: 0,
        }
    }

    /// The offset behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The offset of the first byte that is still here.
    pub(crate) fn start(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn has_room(&self) -> bool {
        self.memory_used < self.limits.memory || self.disk_has_room()
    }

    fn disk_has_room(&self) -> bool {
        self.disk.is_usable() && self.disk.used() < self.limits.disk
    }

    /// Takes what the process wrote. To be called when there is room.
    pub(crate) fn append(&mut self, source: Source, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let offset = self.end;
        self.end += data.len() as u64;
        self.memory_used += data.len();
        match self.memory.back_mut() {
            Some(last)
                if last.source == source && last.data.len() + data.len() <= self.limits.record =>
            {
                last.data.extend_from_slice(data);
            }
            _ => {
                self.memory_used += OVERHEAD;
                let mut kept = self.room_for(data.len());
                kept.extend_from_slice(data);
                self.memory.push_back(Record {
                    offset,
                    source,
                    data: kept,
                });
            }
        }
        if self.memory_used > self.limits.memory && self.disk_has_room() {
            self.spill();
        }
    }

    /// Memory for a record that begins with this many bytes: a whole one where much comes at once.
    fn room_for(&mut self, length: usize) -> Vec<u8> {
        if length < self.limits.record / 4 {
            return Vec::with_capacity(length);
        }
        let spare = self.spare.pop();
        spare.unwrap_or_else(|| Vec::with_capacity(self.limits.record))
    }

    fn keep_spare(&mut self, mut data: Vec<u8>) {
        if data.capacity() == self.limits.record && self.spare.len() < SPARE {
            data.clear();
            self.spare.push(data);
        }
    }

    /// Moves the older half of the memory to the disk.
    fn spill(&mut self) {
        let mut count = 0;
        let mut used = self.memory_used;
        while used > self.limits.memory / 2 && count < self.memory.len() {
            used -= self.memory[count].data.len() + OVERHEAD;
            count += 1;
        }
        match self
            .disk
            .append(self.memory.iter().take(count).map(|record| Spilled {
                offset: record.offset,
                source: record.source,
                data: &record.data,
            })) {
            Ok(()) => {
                self.memory.drain(..count);
                self.memory_used = used;
            }
            Err(error) => log(format_args!(
                "cannot spool output to the disk, so the process waits for the hub more often: {error}"
            )),
        }
    }

    /// The output at `offset`, at most one message of it; nothing if there is none yet.
    pub(crate) fn read(&mut self, offset: u64) -> io::Result<Option<Piece<'_>>> {
        if let Some(output) = self.disk.read(offset)? {
            return Ok(Some(output));
        }
        let index = self.memory.partition_point(|record| record.end() <= offset);
        Ok(self.memory.get(index).map(|record| record.rest(offset)))
    }

    /// Forgets everything below `offset`. An offset that was never reached is not possible.
    pub(crate) fn acknowledge(&mut self, offset: u64) -> bool {
        if offset > self.end {
            return false;
        }
        self.acknowledged = self.acknowledged.max(offset);
        self.disk.forget(offset);
        while let Some(record) = self.memory.front()
            && record.end() <= offset
        {
            self.memory_used -= record.data.len() + OVERHEAD;
            if let Some(record) = self.memory.pop_front() {
                self.keep_spare(record.data);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        record: 50,
        memory: 1000,
        disk: 3000,
        segment: 500,
    };

    fn pattern(offset: u64) -> u8 {
        (offset % 251) as u8
    }

    /// Fills the spool until it has no room; stderr carries every third record.
    fn fill(spool: &mut Spool) {
        let mut turn = 0;
        while spool.has_room() {
            let length = 1 + turn % 37;
            let data: Vec<u8> = (spool.end..spool.end + length).map(pattern).collect();
            let source = if turn % 3 == 0 {
                Source::Stderr
            } else {
                Source::Stdout
            };
            spool.append(source, &data);
            turn += 1;
        }
    }

    /// Reads from `offset` to the end and checks every byte.
    fn check(spool: &mut Spool, mut offset: u64) {
        while let Some(output) = spool.read(offset).unwrap() {
            assert_eq!(output.offset, offset);
            for byte in output.data.iter() {
                assert_eq!(*byte, pattern(offset));
                offset += 1;
            }
        }
        assert_eq!(offset, spool.end());
    }

    #[test]
    fn output_is_read_back_from_any_offset() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::limited(folder.path().join("state"), SMALL);
        fill(&mut spool);
        assert!(spool.disk.used() >= SMALL.disk);
        for offset in [0, 1, 36, 37, 499, 500, spool.end() - 1, spool.end(), 700, 3] {
            check(&mut spool, offset);
        }
    }

    #[test]
    fn acknowledged_output_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::limited(folder.path().to_owned(), SMALL);
        for _ in 0..20 {
            fill(&mut spool);
            assert!(!spool.has_room());
            let offset = (spool.start() + spool.end()) / 2;
            assert!(spool.acknowledge(offset));
            assert!(spool.has_room());
            check(&mut spool, offset);
        }
        assert!(spool.acknowledge(spool.end()));
        assert_eq!((spool.memory_used, spool.disk.used()), (0, 0));
        assert!(!spool.acknowledge(spool.end() + 1));
    }

    #[test]
    fn the_disk_stays_unused_while_the_hub_keeps_up() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let mut spool = Spool::limited(state.clone(), SMALL);
        for _ in 0..1000 {
            spool.append(Source::Stdout, b"0123456789");
            let end = spool.end();
            assert!(spool.acknowledge(end));
        }
        assert!(!state.exists());
    }

    #[test]
    fn memory_of_full_records_is_used_again_and_little_is_said_in_little() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::limited(folder.path().to_owned(), SMALL);
        spool.append(Source::Stdout, b"a word");
        assert!(spool.memory[0].data.capacity() < SMALL.record);
        spool.append(Source::Stderr, &[b'x'; 50]);
        let place = spool.memory[1].data.as_ptr();
        assert!(spool.acknowledge(spool.end()));
        spool.append(Source::Stdout, &[b'y'; 30]);
        assert_eq!(spool.memory[0].data.as_ptr(), place);
        assert_eq!(*spool.read(56).unwrap().unwrap().data, [b'y'; 30]);
        for _ in 0..2 * SPARE {
            spool.append(Source::Stdout, &[b'z'; 50]);
        }
        assert!(spool.acknowledge(spool.end()));
        assert!(spool.spare.len() <= SPARE);
    }

    #[test]
    fn without_a_disk_the_memory_alone_is_the_spool() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let mut spool = Spool::limited(file, SMALL);
        fill(&mut spool);
        assert!(!spool.has_room());
        check(&mut spool, 0);
        let end = spool.end();
        assert!(spool.acknowledge(end));
        assert!(spool.has_room());
    }

    #[test]
    fn streams_keep_their_names_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::limited(folder.path().to_owned(), SMALL);
        for _ in 0..100 {
            spool.append(Source::Stdout, b"out");
            spool.append(Source::Stderr, b"err");
        }
        let mut offset = 0;
        while let Some(output) = spool.read(offset).unwrap() {
            let expected = if output.source == Source::Stdout {
                "out"
            } else {
                "err"
            };
            assert_eq!(*output.data, *expected.as_bytes());
            offset += 3;
        }
        assert_eq!(offset, 600);
    }
}
