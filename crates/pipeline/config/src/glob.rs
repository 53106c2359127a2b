//! The patterns that groups may use for job names: `*`, `?`, `[a-z]`, `[!x]`, `{a,b}` and `\`
//! before a character that should mean itself. `passed` has another dialect,
//! [`crate::PassedPattern`].

/// More alternatives than this in one pattern are a mistake.
const MAX_ALTERNATIVES: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Vec<Vec<Token>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Char(char),
    /// Any character; a `/` only if `slash` says so.
    Any {
        slash: bool,
    },
    /// Any characters; a `/` only if `slash` says so.
    AnyChars {
        slash: bool,
    },
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// `None` if the pattern is broken: an open bracket, a `\` at its end.
    pub fn new(pattern: &str) -> Option<Self> {
        let chars: Vec<char> = pattern.chars().collect();
        let mut parser = Parser {
            chars: &chars,
            at: 0,
        };
        let alternatives = parser.sequence(0)?;
        (parser.at == chars.len()).then_some(Self(alternatives))
    }

    /// Returns true if a text is more than a plain name.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{', '\\'])
    }

    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        self.0.iter().any(|tokens| matches(tokens, &name))
    }
}

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
}

impl Parser<'_> {
    /// Reads to the end, or inside braces to the next `,` or `}`. Every alternative is a list of
    /// tokens.
    fn sequence(&mut self, depth: usize) -> Option<Vec<Vec<Token>>> {
        let mut alternatives = vec![Vec::new()];
        while let Some(c) = self.chars.get(self.at) {
            if depth > 0 && matches!(c, ',' | '}') {
                break;
            }
            self.at += 1;
            let token = match c {
                '*' => Token::AnyChars { slash: true },
                '?' => Token::Any { slash: true },
                '[' => self.class()?,
                '\\' => Token::Char(self.next()?),
                '{' => {
                    alternatives = combine(&alternatives, &self.braces(depth + 1)?)?;
                    continue;
                }
                c => Token::Char(*c),
            };
            for alternative in &mut alternatives {
                alternative.push(token.clone());
            }
        }
        Some(alternatives)
    }

    fn braces(&mut self, depth: usize) -> Option<Vec<Vec<Token>>> {
        if depth > 8 {
            return None;
        }
        let mut all = Vec::new();
        loop {
            all.extend(self.sequence(depth)?);
            if self.next()? == '}' {
                return Some(all);
            }
        }
    }

    fn class(&mut self) -> Option<Token> {
        let negated = self.chars.get(self.at) == Some(&'!');
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        loop {
            let low = match self.next()? {
                ']' if !ranges.is_empty() => return Some(Token::Class { negated, ranges }),
                ']' => return None,
                '\\' => self.next()?,
                c => c,
            };
            let is_range = self.chars.get(self.at) == Some(&'-')
                && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
            let high = if is_range {
                self.at += 1;
                self.next()?
            } else {
                low
            };
            ranges.push((low, high));
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.get(self.at)?;
        self.at += 1;
        Some(*c)
    }
}

fn combine(heads: &[Vec<Token>], tails: &[Vec<Token>]) -> Option<Vec<Vec<Token>>> {
    if heads.len() * tails.len() > MAX_ALTERNATIVES {
        return None;
    }
    let joined = heads
        .iter()
        .flat_map(|head| {
            tails
                .iter()
                .map(move |tail| [head.as_slice(), tail].concat())
        })
        .collect();
    Some(joined)
}

/// Keeps all positions of the name that the tokens so far can reach, so that many stars cost no
/// more than length times length.
pub(crate) fn matches(tokens: &[Token], name: &[char]) -> bool {
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for token in tokens {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            if let Token::AnyChars { .. } = token {
                next[at] = reached[at] || (at > 0 && next[at - 1] && fits(token, name[at - 1]));
            } else if at > 0 {
                next[at] = reached[at - 1] && fits(token, name[at - 1]);
            }
        }
        reached = next;
    }
    reached[name.len()]
}

fn fits(token: &Token, c: char) -> bool {
    match token {
        Token::Char(wanted) => *wanted == c,
        Token::Any { slash } | Token::AnyChars { slash } => *slash || c != '/',
        Token::Class { negated, ranges } => {
            ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, yes, no) in [
            ("build", "build", "builds"),
            ("build-*", "build-", "build"),
            ("*-unit-*", "a-unit-b", "a-units"),
            ("b?ild", "build", "bild"),
            ("job-[0-9]", "job-7", "job-x"),
            ("job-[!0-9]", "job-x", "job-7"),
            ("{a,b*}-x", "bcd-x", "c-x"),
            ("{a,{b,c}}", "c", "d"),
            ("a\\*", "a*", "ab"),
            ("a,b", "a,b", "a"),
        ] {
            let glob = Glob::new(pattern).unwrap();
            assert!(glob.matches(yes), "{pattern} {yes}");
            assert!(!glob.matches(no), "{pattern} {no}");
        }
        for broken in ["[", "[]", "{a", "a\\", "[a"] {
            assert_eq!(Glob::new(broken), None, "{broken}");
        }
        let many = "{a,b}".repeat(20);
        assert_eq!(Glob::new(&many), None);
        assert!(
            !Glob::new(&"*a".repeat(200))
                .unwrap()
                .matches(&"a".repeat(150))
        );
    }
}
