//! An Aho-Corasick automaton that never does more than a constant number of steps for each byte,
//! and whose memory is a few bytes for each byte of its words.
//!
//! The crate `aho-corasick` promises neither for words that are chosen to harm: a leftmost-longest
//! search reads what follows each match again, and a word that ends in many others is copied with
//! all of them. It also keeps its failure links to itself, which a search that goes on in the next
//! piece needs.

/// The state before anything was read.
pub(super) const ROOT: u32 = 0;

/// A trie of words with failure links. States are numbered level by level, so that the children of
/// a state lie next to each other.
pub(super) struct Trie {
    /// The first child of each state; the children end where those of the next state begin.
    first_child: Vec<u32>,
    /// The byte that leads to each state.
    label: Vec<u8>,
    /// The state of the longest proper suffix that is a state too.
    fail: Vec<u32>,
    /// The length of the longest word that ends in each state.
    longest_word: Vec<u16>,
    /// The number of the first state of each depth.
    depths: Vec<u32>,
    /// The children of the root by byte: most bytes of any output lead nowhere.
    of_root: Box<[u32; 256]>,
}

impl Trie {
    /// Builds the trie of `words`, which are sorted, all different and none of them empty.
    pub(super) fn new<W: AsRef<[u8]>>(words: &[W]) -> Self {
        let mut trie = Self {
            first_child: Vec::new(),
            label: vec![0],
            fail: Vec::new(),
            longest_word: Vec::new(),
            depths: Vec::new(),
            of_root: Box::new([ROOT; 256]),
        };
        let all = 0..words.len();
        let mut level = Vec::from([all]);
        while !level.is_empty() {
            level = trie.add_level(words, &level);
        }
        trie.first_child.push(count(trie.label.len()));
        for child in trie.children(ROOT) {
            trie.of_root[usize::from(trie.label[child as usize])] = child;
        }
        trie.link();
        trie
    }

    /// Adds the states of one depth, each given by the words that begin with it. Gives those of the
    /// next depth.
    fn add_level<W: AsRef<[u8]>>(
        &mut self,
        words: &[W],
        level: &[std::ops::Range<usize>],
    ) -> Vec<std::ops::Range<usize>> {
        let depth = self.depths.len();
        self.depths.push(count(self.first_child.len()));
        let mut next = Vec::new();
        for state in level {
            self.first_child.push(count(self.label.len()));
            let (mut from, mut longest_word) = (state.start, 0);
            if depth > 0 && words[from].as_ref().len() == depth {
                longest_word = u16::try_from(depth).unwrap_or(u16::MAX);
                from += 1;
            }
            self.longest_word.push(longest_word);
            while from < state.end {
                let byte = words[from].as_ref()[depth];
                let alike = words[from..state.end].iter();
                let alike = alike.take_while(|word| word.as_ref()[depth] == byte);
                let to = from + alike.count();
                self.label.push(byte);
                next.push(from..to);
                from = to;
            }
        }
        next
    }

    /// Sets the failure links, of shallow states before those of deep ones.
    fn link(&mut self) {
        self.fail = vec![ROOT; self.label.len()];
        for parent in 0..count(self.label.len()) {
            for child in self.children(parent) {
                let at = child as usize;
                if parent != ROOT {
                    self.fail[at] = self.step(self.fail[parent as usize], self.label[at]);
                }
                if self.longest_word[at] == 0 {
                    self.longest_word[at] = self.longest_word[self.fail[at] as usize];
                }
            }
        }
    }

    fn children(&self, state: u32) -> std::ops::Range<u32> {
        let state = state as usize;
        self.first_child[state]..self.first_child[state + 1]
    }

    fn child(&self, state: u32, byte: u8) -> Option<u32> {
        if state == ROOT {
            return Some(self.of_root[usize::from(byte)]).filter(|child| *child != ROOT);
        }
        let children = self.children(state);
        let labels = &self.label[children.start as usize..children.end as usize];
        let found = labels.binary_search(&byte).ok()?;
        Some(children.start + count(found))
    }

    /// Gives the state after one more byte: the longest suffix of all that was read with which a
    /// word begins.
    pub(super) fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            match self.child(state, byte) {
                Some(child) => return child,
                None if state == ROOT => return ROOT,
                None => state = self.fail[state as usize],
            }
        }
    }

    /// Gives the length of the longest word that ends in this state, 0 if none does.
    pub(super) fn longest_word(&self, state: u32) -> u16 {
        self.longest_word[state as usize]
    }

    /// Gives the lengths of all suffixes of what was read that are a part of a longer word's
    /// beginning.
    pub(super) fn open_lengths(&self, mut state: u32) -> impl Iterator<Item = usize> + '_ {
        std::iter::from_fn(move || {
            while state != ROOT {
                let this = state;
                state = self.fail[this as usize];
                if !self.children(this).is_empty() {
                    return Some(self.depths.partition_point(|first| *first <= this) - 1);
                }
            }
            None
        })
    }

    /// Gives the length of the longest word.
    pub(super) fn deepest(&self) -> usize {
        self.depths.len() - 1
    }
}

/// The limits on secrets keep all numbers of states far below 2³².
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
