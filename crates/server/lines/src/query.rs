//! The words or the pattern that lines are searched for.

use std::ops::Range;

use memchr::memmem;
use regex_lite::{Regex, RegexBuilder};

/// The longest query.
pub const MAX_QUERY_BYTES: usize = 256;

/// The largest pattern after compilation. Searching takes time in proportion to it.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// The most matches in one line that are told.
const MAX_MARKS: usize = 100;

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("a query has between 1 and {MAX_QUERY_BYTES} bytes")]
    Length,
    #[error("the regular expression cannot be used")]
    Pattern(#[source] regex_lite::Error),
}

/// A query that lines are compared with. Clones cost little.
#[derive(Clone, Debug)]
pub struct FindQuery(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Exact(memmem::Finder<'static>),
    /// The words are in lower case, as far as they are ASCII.
    AnyCase(memmem::Finder<'static>),
    Pattern(Regex),
}

impl FindQuery {
    /// A query for words, which are searched as they are.
    pub fn words(words: &str, exact_case: bool) -> Result<Self, QueryError> {
        check_length(words)?;
        let finder = |words: &str| memmem::Finder::new(words).into_owned();
        Ok(Self(if exact_case {
            Kind::Exact(finder(words))
        } else {
            Kind::AnyCase(finder(&words.to_ascii_lowercase()))
        }))
    }

    /// A query for a regular expression. A search takes linear time.
    pub fn pattern(pattern: &str, exact_case: bool) -> Result<Self, QueryError> {
        check_length(pattern)?;
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(!exact_case)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(QueryError::Pattern)?;
        Ok(Self(Kind::Pattern(regex)))
    }

    /// Returns where a text matches: start and length of each match, in units of UTF-16, as
    /// browsers count.
    pub(crate) fn marks(&self, text: &mut str) -> Vec<(u32, u32)> {
        let matches: Vec<Range<usize>> = match &self.0 {
            Kind::Exact(finder) => words(finder, text),
            Kind::AnyCase(finder) => {
                // The lengths stay the same, so the places do.
                text.make_ascii_lowercase();
                words(finder, text)
            }
            Kind::Pattern(regex) => {
                let matches = regex.find_iter(text).map(|found| found.range());
                let matches = matches.filter(|range| !range.is_empty());
                matches.take(MAX_MARKS).collect()
            }
        };
        utf16(text, &matches)
    }
}

fn check_length(query: &str) -> Result<(), QueryError> {
    if (1..=MAX_QUERY_BYTES).contains(&query.len()) {
        return Ok(());
    }
    Err(QueryError::Length)
}

fn words(finder: &memmem::Finder<'_>, text: &str) -> Vec<Range<usize>> {
    let length = finder.needle().len();
    let starts = finder.find_iter(text.as_bytes()).take(MAX_MARKS);
    starts.map(|start| start..start + length).collect()
}

fn utf16(text: &str, matches: &[Range<usize>]) -> Vec<(u32, u32)> {
    let (mut at, mut units) = (0, 0);
    // Matches rise and do not overlap, and they begin and end between characters.
    let mut advance = |to: usize| {
        let between = text.get(at..to).unwrap_or_default();
        units += between.encode_utf16().count();
        at = to;
        u32::try_from(units).unwrap_or(u32::MAX)
    };
    let mark = |range: &Range<usize>| {
        let (start, end) = (advance(range.start), advance(range.end));
        (start, end - start)
    };
    matches.iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(query: Result<FindQuery, QueryError>, text: &str) -> Vec<(u32, u32)> {
        query.unwrap().marks(&mut text.to_owned())
    }

    #[test]
    fn words_match_as_they_are() {
        assert_eq!(
            marks(FindQuery::words("A.b", false), "xa.B a.b axb"),
            [(1, 3), (5, 3)]
        );
        assert_eq!(marks(FindQuery::words("a.b", true), "xA.b a.b"), [(5, 3)]);
        assert_eq!(
            marks(FindQuery::words("aa", true), "aaaaa"),
            [(0, 2), (2, 2)]
        );
    }

    #[test]
    fn places_are_those_of_browsers() {
        assert_eq!(marks(FindQuery::words("é😀", true), "😀é😀x"), [(2, 3)]);
    }

    #[test]
    fn patterns_match() {
        assert_eq!(
            marks(FindQuery::pattern("err(or)?s?", false), "Errors: ERR"),
            [(0, 6), (8, 3)]
        );
        assert_eq!(marks(FindQuery::pattern("^a+$", true), "aaa"), [(0, 3)]);
        // What matches nothing is shown nowhere.
        assert_eq!(marks(FindQuery::pattern("x*", true), "abc"), []);
        assert_eq!(
            marks(FindQuery::pattern("a", true), &"a".repeat(500)).len(),
            MAX_MARKS
        );
    }

    #[test]
    fn queries_are_bounded() {
        let long = "a".repeat(MAX_QUERY_BYTES + 1);
        assert!(matches!(
            FindQuery::words("", true),
            Err(QueryError::Length)
        ));
        assert!(matches!(
            FindQuery::pattern(&long, true),
            Err(QueryError::Length)
        ));
        for bad in ["(", "a{1,500}{1,500}", "(((a{1,90}){1,90}){1,90})"] {
            let refused = FindQuery::pattern(bad, true);
            assert!(matches!(refused, Err(QueryError::Pattern(_))), "{bad}");
        }
    }
}
