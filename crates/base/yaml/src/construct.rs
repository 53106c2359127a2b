//! Construction of values from the document as written: follows aliases, applies merge keys,
//! resolves scalars.

use std::collections::{HashMap, HashSet};

use crate::document::{Document, Kind, NodeIndex};
use crate::events::{ScalarTag, Style};
use crate::{Error, ErrorKind, Key, MAX_DEPTH, Node, Span, Value, number, scalar};

/// Bytes of text that aliases may copy. Counting nodes alone would let a long string be multiplied
/// without bound.
const MAX_ALIASED_BYTES: usize = 16 << 20;

pub(crate) fn construct(document: &Document) -> Result<Node, Error> {
    match document.root() {
        Some(root) => Constructor::new(document).node(root, 0),
        None => Ok(Node {
            value: Value::Null,
            span: Span::default(),
        }),
    }
}

pub(crate) struct Constructor<'a> {
    document: &'a Document,
    /// Targets of the aliases that are being followed right now.
    following: HashSet<NodeIndex>,
    built: u64,
    built_through_aliases: u64,
    bytes_through_aliases: usize,
}

/// The entries of a map under construction, and where each key is among them once they are many.
struct Entries {
    list: Vec<(Key, Node)>,
    places: HashMap<String, usize>,
}

/// Among so few keys looking at each is faster than knowing where it is.
const FEW: usize = 16;

impl Entries {
    fn with_capacity(count: usize) -> Self {
        Self {
            list: Vec::with_capacity(count),
            places: HashMap::new(),
        }
    }

    /// The last of equal keys wins, at the place of the first.
    fn set(&mut self, key: Key, node: Node) {
        match self.place(&key.text) {
            Some(place) => self.list[place] = (key, node),
            None => {
                if self.list.len() >= FEW {
                    self.places.insert(key.text.clone(), self.list.len());
                }
                self.list.push((key, node));
            }
        }
    }

    fn place(&self, text: &str) -> Option<usize> {
        let mut first = self.list.iter().take(FEW);
        let found = first.position(|(key, _)| key.text == text);
        found.or_else(|| self.places.get(text).copied())
    }
}

impl<'a> Constructor<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        Self {
            document,
            following: HashSet::new(),
            built: 0,
            built_through_aliases: 0,
            bytes_through_aliases: 0,
        }
    }

    fn node(&mut self, index: NodeIndex, depth: usize) -> Result<Node, Error> {
        let document = self.document;
        let written = document.node(index);
        let span = written.span;
        self.count(span)?;
        let value = match &written.kind {
            Kind::Alias(target) => {
                return self.follow(*target, span, |this| this.node(*target, depth));
            }
            Kind::Scalar { text, style, tag } => {
                self.count_text(text, span)?;
                scalar::resolve(text, *style, *tag).map_err(|kind| kind.at(span.start))?
            }
            Kind::Seq(items) => {
                let depth = deeper(depth, span)?;
                let items = items.iter().map(|item| self.node(*item, depth));
                Value::Seq(items.collect::<Result<_, _>>()?)
            }
            Kind::Map(entries) => {
                let mut into = Entries::with_capacity(entries.len());
                self.entries(entries, &mut into, deeper(depth, span)?)?;
                Value::Map(into.list)
            }
        };
        Ok(Node { value, span })
    }

    /// Adds a written map's entries in order. A merge key overwrites what stands before it and is
    /// overwritten by what stands after.
    fn entries(
        &mut self,
        written: &[(NodeIndex, NodeIndex)],
        into: &mut Entries,
        depth: usize,
    ) -> Result<(), Error> {
        for (key, value) in written {
            if self.is_merge(*key) {
                self.merge(*value, into, depth)?;
                continue;
            }
            let key = self.key(*key, depth)?;
            let node = self.node(*value, depth)?;
            into.set(key, node);
        }
        Ok(())
    }

    pub(crate) fn is_merge(&self, key: NodeIndex) -> bool {
        match &self.document.node(key).kind {
            Kind::Scalar { text, style, tag } if text == "<<" => match tag {
                None => *style == Style::Plain,
                Some(tag) => matches!(tag, ScalarTag::Merge | ScalarTag::NonSpecific),
            },
            _ => false,
        }
    }

    fn merge(&mut self, from: NodeIndex, into: &mut Entries, depth: usize) -> Result<(), Error> {
        match &self.document.node(from).kind {
            // Of a list the earlier maps win, so they are applied last.
            Kind::Seq(items) => items
                .iter()
                .rev()
                .try_for_each(|item| self.merge_map(*item, into, depth)),
            _ => self.merge_map(from, into, depth),
        }
    }

    fn merge_map(
        &mut self,
        from: NodeIndex,
        into: &mut Entries,
        depth: usize,
    ) -> Result<(), Error> {
        let document = self.document;
        let written = document.node(from);
        self.count(written.span)?;
        match &written.kind {
            Kind::Map(entries) => self.entries(entries, into, deeper(depth, written.span)?),
            Kind::Alias(target) => match &document.node(*target).kind {
                Kind::Map(entries) => {
                    let depth = deeper(depth, written.span)?;
                    self.follow(*target, written.span, |this| {
                        this.entries(entries, into, depth)
                    })
                }
                _ => Err(ErrorKind::Merge.at(written.span.start)),
            },
            _ => Err(ErrorKind::Merge.at(written.span.start)),
        }
    }

    pub(crate) fn key(&mut self, index: NodeIndex, depth: usize) -> Result<Key, Error> {
        let node = self.node(index, depth)?;
        let text = match node.value {
            Value::String(text) => text,
            Value::Float(number) => number::key_text(number),
            Value::UInt(_) => return Err(ErrorKind::Key("a number this large").at(node.span.start)),
            value => value
                .scalar_text()
                .ok_or_else(|| ErrorKind::Key(value.kind()).at(node.span.start))?,
        };
        Ok(Key {
            text,
            span: node.span,
        })
    }

    fn follow<T>(
        &mut self,
        target: NodeIndex,
        span: Span,
        build: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.following.insert(target) {
            return Err(ErrorKind::Recursive.at(span.start));
        }
        let built = build(self);
        self.following.remove(&target);
        built
    }

    /// Small documents may be almost all aliases, large ones may not.
    fn count(&mut self, span: Span) -> Result<(), Error> {
        self.built += 1;
        if self.following.is_empty() {
            return Ok(());
        }
        self.built_through_aliases += 1;
        let share = self.built_through_aliases as f64 / self.built as f64;
        let excessive = self.built_through_aliases > 100
            && self.built > 1000
            && share > allowed_share(self.built);
        if excessive {
            Err(ErrorKind::ExcessiveAliasing.at(span.start))
        } else {
            Ok(())
        }
    }

    fn count_text(&mut self, text: &str, span: Span) -> Result<(), Error> {
        if !self.following.is_empty() {
            self.bytes_through_aliases += text.len();
        }
        if self.bytes_through_aliases > MAX_ALIASED_BYTES {
            return Err(ErrorKind::ExcessiveAliasing.at(span.start));
        }
        Ok(())
    }
}

/// Returns 99 % up to 400,000 nodes, then less in a straight line down to 10 % at 4,000,000.
fn allowed_share(built: u64) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let position = ((built as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    0.99 - 0.89 * position
}

fn deeper(depth: usize, span: Span) -> Result<usize, Error> {
    if depth >= MAX_DEPTH {
        Err(ErrorKind::TooDeep.at(span.start))
    } else {
        Ok(depth + 1)
    }
}
