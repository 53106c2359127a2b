//! The document as written: nodes in an arena, anchors resolved to nodes, aliases not yet followed.
//!
//! An arena instead of a tree, so that an alias is an index and dropping never recurses.

use std::collections::HashMap;

use crate::events::{Event, Events, OpenQuote, ScalarTag, Style};
use crate::margins::Widened;
use crate::{Error, ErrorKind, MAX_DEPTH, Span};

pub(crate) type NodeIndex = usize;

/// About as many as pipelines have.
const BYTES_PER_NODE: usize = 8;

/// Memory for more than these is not taken on the mere length of a text.
const MOST_FORESEEN: usize = 1 << 16;

pub(crate) struct WrittenNode {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

pub(crate) enum Kind {
    Scalar {
        text: String,
        style: Style,
        tag: Option<ScalarTag>,
    },
    Alias(NodeIndex),
    Seq(Vec<NodeIndex>),
    Map(Vec<(NodeIndex, NodeIndex)>),
}

pub(crate) struct Document {
    nodes: Vec<WrittenNode>,
    root: Option<NodeIndex>,
}

impl Document {
    pub(crate) fn compose(text: &str) -> Result<Self, Error> {
        let mut widened = Widened::new(text);
        loop {
            match Self::compose_once(widened.text()) {
                Ok(mut document) => {
                    for node in &mut document.nodes {
                        node.span = widened.written_span(node.span);
                    }
                    return Ok(document);
                }
                Err((error, open_quote)) => {
                    if !open_quote.is_some_and(|quote| widened.widen(quote)) {
                        let position = widened.written_position(error.position);
                        return Err(Error { position, ..error });
                    }
                }
            }
        }
    }

    fn compose_once(text: &str) -> Result<Self, (Error, Option<OpenQuote>)> {
        let mut composer = Composer {
            events: Events::new(text),
            // Growing would move them all, several times.
            nodes: Vec::with_capacity((text.len() / BYTES_PER_NODE).min(MOST_FORESEEN)),
            anchors: HashMap::new(),
        };
        match composer.root() {
            Ok(root) => Ok(Self {
                nodes: composer.nodes,
                root,
            }),
            Err(error) => Err((error, composer.events.open_quote())),
        }
    }

    pub(crate) fn root(&self) -> Option<NodeIndex> {
        self.root
    }

    pub(crate) fn nodes(&self) -> &[WrittenNode] {
        &self.nodes
    }

    pub(crate) fn node(&self, index: NodeIndex) -> &WrittenNode {
        &self.nodes[index]
    }
}

struct Composer<'a> {
    events: Events<'a>,
    nodes: Vec<WrittenNode>,
    anchors: HashMap<usize, NodeIndex>,
}

/// A node, or the end of the collection (or document) that it would have been in.
enum Next {
    Node(NodeIndex),
    End(Span),
}

impl Next {
    fn into_root(self) -> Option<NodeIndex> {
        match self {
            Self::Node(index) => Some(index),
            Self::End(_) => None,
        }
    }
}

impl Composer<'_> {
    fn root(&mut self) -> Result<Option<NodeIndex>, Error> {
        let root = self.node(0)?.into_root();
        if root.is_some() {
            self.end()?;
        }
        Ok(root)
    }

    fn node(&mut self, depth: usize) -> Result<Next, Error> {
        let (event, span) = self.events.next()?;
        let index = match event {
            Event::Scalar {
                text,
                style,
                tag,
                anchor,
            } => self.add(Kind::Scalar { text, style, tag }, span, anchor),
            Event::Alias { anchor } => {
                // The parser names only anchors that it has reported before.
                let target = *self
                    .anchors
                    .get(&anchor)
                    .expect("an alias follows its anchor");
                self.add(Kind::Alias(target), span, None)
            }
            Event::UnknownAlias { name } => {
                return Err(ErrorKind::UnknownAnchor(name).at(span.start));
            }
            Event::SeqStart { anchor } => self.seq(span, anchor, depth + 1)?,
            Event::MapStart { anchor } => self.map(span, anchor, depth + 1)?,
            Event::SeqEnd | Event::MapEnd | Event::End => return Ok(Next::End(span)),
        };
        Ok(Next::Node(index))
    }

    fn seq(&mut self, span: Span, anchor: Option<usize>, depth: usize) -> Result<NodeIndex, Error> {
        check_depth(depth, span)?;
        let index = self.add(Kind::Seq(Vec::new()), span, anchor);
        let mut items = Vec::new();
        let end = loop {
            match self.node(depth)? {
                Next::Node(item) => items.push(item),
                Next::End(end) => break end,
            }
        };
        self.close(index, Kind::Seq(items), end);
        Ok(index)
    }

    fn map(&mut self, span: Span, anchor: Option<usize>, depth: usize) -> Result<NodeIndex, Error> {
        check_depth(depth, span)?;
        let index = self.add(Kind::Map(Vec::new()), span, anchor);
        let mut entries = Vec::new();
        let end = loop {
            let key = match self.node(depth)? {
                Next::Node(key) => key,
                Next::End(end) => break end,
            };
            match self.node(depth)? {
                Next::Node(value) => entries.push((key, value)),
                Next::End(end) => break end,
            }
        };
        self.close(index, Kind::Map(entries), end);
        Ok(index)
    }

    /// A collection is in the arena before what is in it: it may be named by an alias inside.
    fn add(&mut self, kind: Kind, span: Span, anchor: Option<usize>) -> NodeIndex {
        let index = self.nodes.len();
        self.nodes.push(WrittenNode { kind, span });
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, index);
        }
        index
    }

    fn close(&mut self, index: NodeIndex, kind: Kind, end: Span) {
        let node = &mut self.nodes[index];
        node.kind = kind;
        node.span.end = end.end.max(node.span.end);
    }

    /// Reads to the end of the first document, so that rubbish behind its root is an error.
    fn end(&mut self) -> Result<(), Error> {
        while !matches!(self.events.next()?.0, Event::End) {}
        Ok(())
    }
}

fn check_depth(depth: usize, span: Span) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        Err(ErrorKind::TooDeep.at(span.start))
    } else {
        Ok(())
    }
}
