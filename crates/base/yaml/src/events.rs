//! The only module that knows the parser behind this crate. It turns the parser's events into ours,
//! so that another parser can take its place.

use granit_parser::{Event as Parsed, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag};

use crate::{Error, ErrorKind, Position, Span};

pub(crate) enum Event {
    Scalar {
        text: String,
        style: Style,
        tag: Option<ScalarTag>,
        anchor: Option<usize>,
    },
    Alias {
        anchor: usize,
    },
    UnknownAlias {
        name: String,
    },
    SeqStart {
        anchor: Option<usize>,
    },
    SeqEnd,
    MapStart {
        anchor: Option<usize>,
    },
    MapEnd,
    /// The end of the first document, or of the text. Nothing comes after it.
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Quoted,
    /// A text after `|` or `>`.
    Block,
}

/// The tags that change what a scalar means; others are as good as none on a string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarTag {
    /// A lone `!`: resolve the scalar as if it were plain.
    NonSpecific,
    Str,
    Bool,
    Int,
    Float,
    Null,
    Binary,
    Merge,
    /// Any other tag: the scalar is a string.
    Other,
}

pub(crate) struct Events<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    /// The end of the last event.
    after: usize,
    open_quote: Option<OpenQuote>,
}

/// The parser stopped at the margin of a line, maybe inside a quoted text.
#[derive(Clone, Copy)]
pub(crate) struct OpenQuote {
    /// The end of what stands before it.
    pub(crate) after: usize,
    pub(crate) stopped: usize,
}

impl<'a> Events<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let options =
            granit_parser::options! { emit_comments: false, emit_unresolved_aliases: true };
        Self {
            text,
            parser: Parser::new_from_str_with_options(text, options),
            after: 0,
            open_quote: None,
        }
    }

    /// The quoted text in which the parser gave up, if that is where and why it did.
    pub(crate) fn open_quote(&self) -> Option<OpenQuote> {
        self.open_quote
    }

    pub(crate) fn next(&mut self) -> Result<(Event, Span), Error> {
        loop {
            let Some(next) = self.parser.next_event() else {
                return Ok((Event::End, Span::default()));
            };
            let (parsed, marks) = match next {
                Ok(next) => next,
                Err(error) => return Err(self.fail(&error)),
            };
            let span = Span {
                start: self.position(&marks.start),
                end: self.position(&marks.end),
            };
            self.after = span.end.offset;
            if let Some(mut event) = convert(parsed) {
                self.finish_block(&mut event, marks.indent, span);
                return Ok((event, span));
            }
        }
    }

    fn position(&self, marker: &Marker) -> Position {
        let offset = marker
            .byte_offset()
            .unwrap_or_else(|| self.offset_of_char(marker.index()));
        Position {
            line: marker.line().max(1),
            column: marker.col() + 1,
            offset,
        }
    }

    /// Markers of errors may know characters only.
    fn offset_of_char(&self, index: usize) -> usize {
        self.text
            .char_indices()
            .nth(index)
            .map_or(self.text.len(), |(offset, _)| offset)
    }

    /// Takes the last line break from a block scalar whose last line is the last of the text and
    /// has none: the parser gives it one.
    fn finish_block(&self, event: &mut Event, margin: Option<usize>, span: Span) {
        let Event::Scalar {
            text: block,
            style: Style::Block,
            ..
        } = event
        else {
            return;
        };
        let ends_here = span.end.offset == self.text.len() && !self.text.ends_with(['\n', '\r']);
        // A line of nothing but the margin is none.
        let has_line = match margin {
            Some(margin) => span.end.column > margin + 1,
            // Nothing but spaces and breaks, of which the first ends the line of the `|`.
            None => {
                let breaks = self.text[span.start.offset..].matches('\n').count();
                block.ends_with(" \n") || block.len() >= breaks
            }
        };
        if ends_here && has_line && block.ends_with('\n') {
            block.pop();
        }
    }

    fn fail(&mut self, error: &ScanError) -> Error {
        let place = self.position(error.marker());
        let kind = match error.kind() {
            granit_parser::ErrorKind::RecursionLimitExceeded => ErrorKind::TooDeep,
            _ => ErrorKind::Syntax(error.info()),
        };
        let is_margin = matches!(
            error.kind(),
            granit_parser::ErrorKind::InvalidQuotedScalarIndent
                | granit_parser::ErrorKind::TabInIndentation
        );
        self.open_quote = is_margin.then_some(OpenQuote {
            after: self.after,
            stopped: place.offset,
        });
        kind.at(place)
    }
}

fn convert(parsed: Parsed<'_>) -> Option<Event> {
    Some(match parsed {
        Parsed::Scalar(text, style, anchor, tag) => Event::Scalar {
            text: text.into_owned(),
            style: match style {
                ScalarStyle::Plain => Style::Plain,
                ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                _ => Style::Quoted,
            },
            tag: tag.map(|tag| scalar_tag(&tag)),
            anchor: known(anchor),
        },
        Parsed::Alias(anchor) => Event::Alias { anchor },
        Parsed::UnresolvedAlias(name) => Event::UnknownAlias {
            name: name.into_owned(),
        },
        Parsed::SequenceStart(_, anchor, _) => Event::SeqStart {
            anchor: known(anchor),
        },
        Parsed::SequenceEnd => Event::SeqEnd,
        Parsed::MappingStart(_, anchor, _) => Event::MapStart {
            anchor: known(anchor),
        },
        Parsed::MappingEnd => Event::MapEnd,
        Parsed::DocumentEnd | Parsed::StreamEnd => Event::End,
        // Starts of streams and documents, comments and whatever the parser reports in later
        // versions.
        _ => return None,
    })
}

/// The parser numbers anchors from 1.
fn known(anchor: usize) -> Option<usize> {
    (anchor != 0).then_some(anchor)
}

fn scalar_tag(tag: &Tag) -> ScalarTag {
    if tag.handle().is_empty() && tag.suffix() == "!" || tag.original() == "!" {
        return ScalarTag::NonSpecific;
    }
    match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
        Some("str") => ScalarTag::Str,
        Some("bool") => ScalarTag::Bool,
        Some("int") => ScalarTag::Int,
        Some("float") => ScalarTag::Float,
        Some("null") => ScalarTag::Null,
        Some("binary") => ScalarTag::Binary,
        Some("merge") => ScalarTag::Merge,
        _ => ScalarTag::Other,
    }
}
