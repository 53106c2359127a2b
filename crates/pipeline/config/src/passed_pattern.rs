//! The patterns that `passed` may use for job names. Concourse matches them with Go's `path.Match`:
//! `*`, `?`, `[a-z]`, `[^x]` and `\` before a character that should mean itself. `*` and `?` stop
//! at a `/`, and `{a,b}` is just text.
//!
//! Groups have another dialect, [`crate::Glob`].

use crate::glob::{Token, matches};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedPattern(Vec<Token>);

impl PassedPattern {
    /// `None` if the pattern is broken: an open or empty bracket, a `\` at its end. Such a pattern
    /// matches no job.
    pub fn new(pattern: &str) -> Option<Self> {
        let mut chars = pattern.chars().peekable();
        let mut tokens = Vec::new();
        while let Some(next) = chars.next() {
            tokens.push(match next {
                '*' => Token::AnyChars { slash: false },
                '?' => Token::Any { slash: false },
                '[' => class(&mut chars)?,
                '\\' => Token::Char(chars.next()?),
                other => Token::Char(other),
            });
        }
        Some(Self(tokens))
    }

    /// Returns true if a text is more than a plain name.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '\\'])
    }

    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        matches(&self.0, &name)
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads the text between brackets. The first `]` may end it only after a character.
fn class(chars: &mut Chars<'_>) -> Option<Token> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
            return Some(Token::Class { negated, ranges });
        }
        let low = class_char(chars)?;
        let high = match chars.next_if_eq(&'-') {
            Some(_) => class_char(chars)?,
            None => low,
        };
        ranges.push((low, high));
    }
}

fn class_char(chars: &mut Chars<'_>) -> Option<char> {
    match chars.next()? {
        '-' | ']' => None,
        '\\' => chars.next(),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_go() {
        for (pattern, yes, no) in [
            ("build", "build", "builds"),
            ("build-*", "build-", "build"),
            ("b?ild", "build", "bild"),
            ("b?ild", "büild", "b/ild"),
            ("job-[0-9]", "job-7", "job-x"),
            ("[^a]*", "bcd", "abc"),
            ("[!a]", "!", "b"),
            ("[!a]", "a", "^"),
            ("{a,b}", "{a,b}", "a"),
            ("*", "a-b", "a/b"),
            ("*/*", "a/b", "ab"),
            ("[a/]b", "/b", "bb"),
            ("[\\]-a]", "^", "b"),
            ("a\\*", "a*", "ab"),
        ] {
            let glob = PassedPattern::new(pattern).unwrap();
            assert!(glob.matches(yes), "{pattern} {yes}");
            assert!(!glob.matches(no), "{pattern} {no}");
        }
        for broken in ["[", "[]", "[]a]", "[-a]", "[a-]", "a\\", "[a", "[^]"] {
            assert_eq!(PassedPattern::new(broken), None, "{broken}");
        }
        assert!(!PassedPattern::is_pattern("{a,b}"));
    }
}
