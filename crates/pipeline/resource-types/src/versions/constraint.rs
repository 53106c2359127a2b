//! Ranges of versions: `^1.2`, `~1.2.3`, `>= 1.2, < 3`, `1.x || 2.4 - 2.6`.

use std::cmp::Ordering;

use super::Semver;

/// Any of several lists of bounds that must all hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Constraint(Vec<Vec<Bound>>);

#[derive(Debug, PartialEq, Eq)]
struct Bound {
    operator: Operator,
    version: Semver,
    /// Number of the three numbers that were written.
    written: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Tilde,
    Caret,
}

/// Operators, longer ones first: each is looked for at the beginning of a text.
const OPERATORS: &[(&str, Operator)] = &[
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("!=", Operator::NotEqual),
    ("~>", Operator::Tilde),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
];

impl Constraint {
    pub fn parse(text: &str) -> Option<Self> {
        let lists = text.split("||").map(list).collect::<Option<Vec<_>>>()?;
        Some(Self(lists))
    }

    pub fn allows(&self, version: &Semver) -> bool {
        self.0
            .iter()
            .any(|bounds| bounds.iter().all(|bound| bound.allows(version)))
    }
}

fn list(text: &str) -> Option<Vec<Bound>> {
    if let Some((from, to)) = text.split_once(" - ") {
        let from = bound(Operator::GreaterOrEqual, from.trim())?;
        return Some(vec![from, bound(Operator::LessOrEqual, to.trim())?]);
    }
    let mut bounds = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let found = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (sign, operator) = found.copied().unwrap_or(("", Operator::Equal));
        rest = rest[sign.len()..].trim_start();
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        bounds.push(bound(operator, &rest[..end])?);
        rest = rest[end..].trim_start_matches([',', ' ']);
    }
    (!bounds.is_empty()).then_some(bounds)
}

fn bound(operator: Operator, text: &str) -> Option<Bound> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let is_wild = |part: &&str| matches!(*part, "x" | "X" | "*");
    let known: Vec<&str> = numbers
        .split('.')
        .take_while(|part| !is_wild(part))
        .collect();
    let written = u8::try_from(known.len()).ok()?;
    let version = match (written, known.len() == numbers.split('.').count()) {
        (0, _) => Semver::of(0, 0, 0),
        (_, true) => Semver::parse(text)?,
        (_, false) => Semver::parse(&known.join("."))?,
    };
    Some(Bound {
        operator,
        version,
        written,
    })
}

impl Bound {
    fn allows(&self, version: &Semver) -> bool {
        // Who does not speak of pre-releases does not mean them.
        if version.is_pre_release() && !self.version.is_pre_release() {
            return false;
        }
        let order = version.precedence(&self.version);
        match self.operator {
            Operator::Equal if self.written < 3 => self.is_within(version, self.written),
            Operator::Equal => order.is_eq(),
            Operator::NotEqual if self.written < 3 => !self.is_within(version, self.written),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le() || self.is_within(version, self.written),
            Operator::Greater if self.written < 3 => {
                order.is_gt() && !self.is_within(version, self.written)
            }
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Tilde => order.is_ge() && self.is_within(version, self.written.min(2)),
            Operator::Caret => order.is_ge() && self.is_compatible(version, order),
        }
    }

    /// True if the first numbers are equal.
    fn is_within(&self, version: &Semver, numbers: u8) -> bool {
        let (ours, theirs) = (&self.version, version);
        if numbers >= 3 {
            return ours.precedence(theirs).is_eq();
        }
        (numbers < 1 || ours.major == theirs.major) && (numbers < 2 || ours.minor == theirs.minor)
    }

    /// True if nothing before the first number that is not zero differs.
    fn is_compatible(&self, version: &Semver, order: Ordering) -> bool {
        let ours = &self.version;
        if ours.major > 0 || self.written < 2 {
            return self.written == 0 || ours.major == version.major;
        }
        if ours.minor > 0 || self.written < 3 {
            return (ours.major, ours.minor) == (version.major, version.minor);
        }
        order.is_eq()
            || (ours.major, ours.minor, ours.patch) == (version.major, version.minor, version.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_they_say() {
        for (range, inside, outside) in [
            ("1.2.3", &["1.2.3"][..], &["1.2.4", "1.2.3-rc.1"][..]),
            ("1.2", &["1.2.0", "1.2.9"], &["1.3.0"]),
            ("1.x", &["1.0.0", "1.9.0"], &["2.0.0"]),
            ("*", &["0.0.1", "9.0.0"], &["1.0.0-rc.1"]),
            ("!= 1.2", &["1.3.0"], &["1.2.5"]),
            ("> 1.2", &["1.3.0"], &["1.2.0", "1.2.9"]),
            ("<= 1.2", &["1.2.9", "1.0.0"], &["1.3.0"]),
            (">= 1.2, < 3", &["1.2.0", "2.9.9"], &["1.1.9", "3.0.0"]),
            (">=1.2 <3", &["1.2.0", "2.9.9"], &["1.1.9", "3.0.0"]),
            ("~1.2.3", &["1.2.3", "1.2.9"], &["1.2.2", "1.3.0"]),
            ("~1", &["1.9.9"], &["2.0.0"]),
            ("^1.2.3", &["1.2.3", "1.9.0"], &["1.2.2", "2.0.0"]),
            ("^0.2.3", &["0.2.4"], &["0.3.0"]),
            ("^0.0.3", &["0.0.3"], &["0.0.4"]),
            ("^0", &["0.9.9"], &["1.0.0"]),
            ("1.2 - 2.3", &["1.2.0", "2.3.9"], &["1.1.0", "2.4.0"]),
            ("1.x || >= 3", &["1.5.0", "3.0.0"], &["2.0.0"]),
            (">= 1.0.0-0", &["1.0.0-rc.1", "2.0.0-a"], &["0.9.0"]),
        ] {
            let constraint = Constraint::parse(range).unwrap();
            for (versions, allowed) in [(inside, true), (outside, false)] {
                for text in versions {
                    let version = Semver::parse(text).unwrap();
                    assert_eq!(constraint.allows(&version), allowed, "{range}: {text}");
                }
            }
        }
        for bad in ["", "||", "latest", ">", "1.2.3.4", ">= x y"] {
            assert_eq!(Constraint::parse(bad), None, "{bad}");
        }
    }
}
