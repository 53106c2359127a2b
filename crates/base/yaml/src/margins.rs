//! Quoted texts over several lines, of which a line does not stand deeper than the key.
//!
//! The parser refuses those; Concourse's reader does not mind where their lines begin, as spaces
//! there mean nothing. So such lines get spaces before them, the text is parsed again, and places
//! are those of the text as written.

use std::borrow::Cow;

use crate::events::OpenQuote;
use crate::{Position, Span};

/// Bytes that may be read again besides this many times the text itself: up to each such quoted
/// text once more.
const MOST_READ_AGAIN: usize = 1 << 20;
const MOST_TIMES: usize = 16;

/// A text, with spaces added before some of its lines.
pub(crate) struct Widened<'a> {
    written: &'a str,
    text: Cow<'a, str>,
    /// Lines with spaces added, in order: the number of each, its spaces, and those of the lines
    /// before it.
    lines: Vec<Line>,
    read_again: usize,
}

struct Line {
    number: usize,
    spaces: usize,
    before: usize,
}

impl<'a> Widened<'a> {
    pub(crate) fn new(written: &'a str) -> Self {
        Self {
            written,
            text: Cow::Borrowed(written),
            lines: Vec::new(),
            read_again: 0,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds spaces before the lines of the quoted text that the parser stopped in. Answers whether
    /// it did: then the text is to be parsed again.
    pub(crate) fn widen(&mut self, quote: OpenQuote) -> bool {
        self.read_again += quote.stopped;
        let limit = MOST_READ_AGAIN + MOST_TIMES * self.written.len();
        if self.read_again > limit {
            return false;
        }
        let Some((start, starts)) = continued_lines(&self.text, quote) else {
            return false;
        };
        let spaces = column(&self.text, start) + 1;
        let Some(first) = starts.first() else {
            return false;
        };
        let number = 1 + self.text[..*first].matches('\n').count();
        // Where that did not help, once more does not either.
        let is_done = self.lines.last().is_some_and(|line| line.number >= number);
        if is_done || self.text.len() + spaces * starts.len() > limit {
            return false;
        }
        self.insert(&starts, number, spaces);
        true
    }

    /// Adds spaces at the starts of lines, the first of which has this number.
    fn insert(&mut self, starts: &[usize], mut number: usize, spaces: usize) {
        let mut wider = String::with_capacity(self.text.len() + spaces * starts.len());
        let mut done = 0;
        for start in starts {
            if done > 0 {
                number += self.text[done..*start].matches('\n').count();
            }
            wider.push_str(&self.text[done..*start]);
            wider.extend(std::iter::repeat_n(' ', spaces));
            done = *start;
            let before = self
                .lines
                .last()
                .map_or(0, |line| line.before + line.spaces);
            // Quoted texts are met in the order of the text.
            self.lines.push(Line {
                number,
                spaces,
                before,
            });
        }
        wider.push_str(&self.text[done..]);
        self.text = Cow::Owned(wider);
    }

    /// A place in the text as it was written.
    pub(crate) fn written_position(&self, place: Position) -> Position {
        let next = self.lines.partition_point(|line| line.number <= place.line);
        let Some(line) = next.checked_sub(1).and_then(|at| self.lines.get(at)) else {
            return place;
        };
        let own = if line.number == place.line {
            line.spaces.min(place.column.saturating_sub(1))
        } else {
            line.spaces
        };
        let column = if line.number == place.line {
            place.column - own
        } else {
            place.column
        };
        Position {
            line: place.line,
            column,
            offset: place.offset.saturating_sub(line.before + own),
        }
    }

    pub(crate) fn written_span(&self, span: Span) -> Span {
        Span {
            start: self.written_position(span.start),
            end: self.written_position(span.end),
        }
    }
}

/// Characters from the start of the line.
fn column(text: &str, offset: usize) -> usize {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    text[start..offset].chars().count()
}

/// Returns the beginning of the quoted text that the parser stopped in, and those of its lines but
/// the first.
fn continued_lines(text: &str, quote: OpenQuote) -> Option<(usize, Vec<usize>)> {
    let start = quote_after(text, quote.after)?;
    let end = closing_quote(text, start)?;
    let has_error = (start..=end).contains(&quote.stopped);
    // A line that ends so would be counted otherwise here than there.
    let has_odd_break = text[..end].replace("\r\n", "").contains('\r');
    if !has_error || has_odd_break {
        return None;
    }
    let breaks = text[start..end].match_indices('\n');
    let starts = breaks.map(|(at, _)| start + at + 1);
    // Such a line ends a document, quoted or not.
    let is_text = |at: &usize| !(text[*at..].starts_with("---") || text[*at..].starts_with("..."));
    Some((start, starts.filter(is_text).collect()))
}

/// The quote that comes after a key or dash: between them are only spaces, comments, anchors and
/// tags.
fn quote_after(text: &str, after: usize) -> Option<usize> {
    let mut at = after;
    while let Some(next) = text.get(at..)?.chars().next() {
        match next {
            '"' | '\'' => return Some(at),
            '#' => at += text[at..].find('\n')?,
            '&' | '!' => at += text[at..].find(char::is_whitespace)?,
            ':' | '-' | '?' => at += 1,
            space if space.is_ascii_whitespace() => at += 1,
            _ => return None,
        }
    }
    None
}

fn closing_quote(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[start];
    let mut at = start + 1;
    loop {
        let next = *bytes.get(at)?;
        if next == b'\\' && quote == b'"' {
            at += 1;
        } else if next == quote {
            if quote == b'"' || bytes.get(at + 1) != Some(&quote) {
                return Some(at);
            }
            at += 1;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_quoted_text_is_found() {
        for (text, end) in [
            ("\"a\"", Some(2)),
            ("\"a\\\"b\" ", Some(5)),
            ("'a''b'c", Some(5)),
            ("'a\\'", Some(3)),
            ("\"a", None),
            ("'a''", None),
            ("\"a\\", None),
        ] {
            assert_eq!(closing_quote(text, 0), end, "{text}");
        }
    }

    #[test]
    fn a_quote_is_looked_for_behind_what_may_stand_before_it() {
        assert_eq!(quote_after("a: \"x", 1), Some(3));
        assert_eq!(quote_after("- &a !!str # it's\n 'x", 0), Some(19));
        assert_eq!(quote_after("a: b \"x", 1), None);
        assert_eq!(quote_after("a:", 1), None);
    }
}
