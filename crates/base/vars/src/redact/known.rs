//! The lines that a build's output must not show, ready to be looked for.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    lines::{LONGEST_PIECE, MOST_BYTES, MOST_LINES, TooMuch},
    trie::{ROOT, Trie},
};

/// A part of the lines, with the automata that find them.
struct Shelf {
    /// The lines are sorted and all different.
    lines: Vec<Arc<[u8]>>,
    bytes: usize,
    /// The automaton of the lines tells which of them may have begun at the end of a text.
    forwards: Trie,
    /// The automaton of the lines from their last byte to their first: fed from the end of a text
    /// to its beginning, it finds the longest line that begins at each place.
    backwards: Trie,
}

/// All lines of a build's secrets. They are on several shelves, each less than half as large as the
/// one before: as lines are added one by one, each is sorted in anew only as often as a shelf
/// doubles.
#[derive(Clone, Default)]
pub(super) struct KnownSecrets {
    shelves: Vec<Arc<Shelf>>,
}

/// The places of lines in a text.
#[derive(Default)]
pub(super) struct Findings {
    /// The length of the longest line that begins at each place. Empty: there is none anywhere.
    pub(super) lengths: Vec<u16>,
    /// The places from which the rest of the text is the beginning of a longer line, sorted.
    pub(super) open: Vec<usize>,
}

impl Shelf {
    fn new(lines: Vec<Arc<[u8]>>) -> Self {
        let mut reversed: Vec<Vec<u8>> = lines
            .iter()
            .map(|line| line.iter().rev().copied().collect())
            .collect();
        reversed.sort_unstable();
        Self {
            bytes: lines.iter().map(|line| line.len()).sum(),
            forwards: Trie::new(&lines),
            backwards: Trie::new(&reversed),
            lines,
        }
    }

    fn has(&self, line: &[u8]) -> bool {
        let found = self.lines.binary_search_by(|known| known[..].cmp(line));
        found.is_ok()
    }

    fn find_lines(&self, bytes: &[u8], lengths: &mut Vec<u16>) {
        let mut state = ROOT;
        for (at, byte) in bytes.iter().enumerate().rev() {
            state = self.backwards.step(state, *byte);
            let length = self.backwards.longest_word(state);
            if length > 0 {
                lengths.resize(bytes.len(), 0);
                lengths[at] = lengths[at].max(length);
            }
        }
    }

    fn find_open(&self, bytes: &[u8], open: &mut Vec<usize>) {
        let longest = self.forwards.deepest().min(bytes.len());
        let tail = bytes[bytes.len() - longest..].iter();
        let end = tail.fold(ROOT, |state, byte| self.forwards.step(state, *byte));
        let lengths = self.forwards.open_lengths(end);
        open.extend(lengths.map(|length| bytes.len() - length));
    }
}

impl KnownSecrets {
    pub(super) fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.shelves.iter().map(|shelf| shelf.bytes).sum()
    }

    fn count(&self) -> usize {
        self.shelves.iter().map(|shelf| shelf.lines.len()).sum()
    }

    /// Gives what is known with these lines; `None` if they were all known already.
    pub(super) fn with(&self, lines: BTreeSet<&[u8]>) -> Result<Option<Self>, TooMuch> {
        let is_known = |line: &&[u8]| self.shelves.iter().any(|shelf| shelf.has(line));
        let fresh = lines.into_iter().filter(|line| !is_known(line));
        let mut fresh: Vec<Arc<[u8]>> = fresh.map(Arc::from).collect();
        if fresh.is_empty() {
            return Ok(None);
        }
        let mut bytes: usize = fresh.iter().map(|line| line.len()).sum();
        if self.count() + fresh.len() > MOST_LINES || self.bytes() + bytes > MOST_BYTES {
            return Err(TooMuch::InAll);
        }
        let mut shelves = self.shelves.clone();
        while let Some(shelf) = shelves.pop_if(|shelf| shelf.bytes <= bytes * 2) {
            bytes += shelf.bytes;
            fresh.extend(shelf.lines.iter().cloned());
        }
        fresh.sort_unstable();
        shelves.push(Arc::new(Shelf::new(fresh)));
        Ok(Some(Self { shelves }))
    }

    pub(super) fn find(&self, bytes: &[u8], is_open: bool) -> Findings {
        let mut findings = Findings::default();
        for shelf in &self.shelves {
            shelf.find_lines(bytes, &mut findings.lengths);
            if is_open {
                shelf.find_open(bytes, &mut findings.open);
            }
        }
        findings.open.sort_unstable();
        debug_assert!(findings.open.len() <= LONGEST_PIECE * self.shelves.len());
        findings
    }
}
