//! Semantic versions, as people write them: `1.2.3-rc.1`, also with a `v` before and parts left
//! out.

mod constraint;
mod semi;

use std::{cmp::Ordering, fmt};

pub use constraint::Constraint;
pub(crate) use semi::SemiSemantic;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semver {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    /// The parts behind the hyphen.
    pub(crate) pre: Vec<String>,
    pub(crate) build: String,
}

impl Semver {
    /// Reads a version with one to three numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, build),
            None => (text, ""),
        };
        let (numbers, pre) = match text.split_once('-') {
            Some((_, "")) => return None,
            Some((numbers, pre)) => (numbers, pre.split('.').collect()),
            None => (text, Vec::new()),
        };
        let word = |part: &&str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        // A number of a pre-release has one way to be written.
        let padded = |part: &&str| {
            part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit())
        };
        if pre.iter().any(padded) {
            return None;
        }
        if !pre.iter().all(word) || !build.split('.').all(|part| build.is_empty() || word(&part)) {
            return None;
        }
        let mut numbers = numbers.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u64>().ok()).flatten()
        });
        let mut found = [0; 3];
        found[0] = numbers.next()??;
        for place in &mut found[1..] {
            match numbers.next() {
                Some(number) => *place = number?,
                None => break,
            }
        }
        if numbers.next().is_some() {
            return None;
        }
        let [major, minor, patch] = found;
        Some(Self {
            major,
            minor,
            patch,
            pre: pre.into_iter().map(str::to_owned).collect(),
            build: build.to_owned(),
        })
    }

    pub(crate) fn of(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            pre: Vec::new(),
            build: String::new(),
        }
    }

    pub(crate) fn built(self, build: String) -> Self {
        Self { build, ..self }
    }

    pub fn is_pre_release(&self) -> bool {
        !self.pre.is_empty()
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre.join("."))?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.precedence(other))
    }
}

impl Semver {
    /// Compares two versions by age. The part behind a plus does not count.
    pub fn precedence(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => parts(&self.pre, &other.pre),
            }
        })
    }
}

/// Numbers by value and before words; of equal beginnings the longer is newer.
fn parts(ours: &[String], theirs: &[String]) -> Ordering {
    for (our, their) in ours.iter().zip(theirs) {
        let order = match (our.parse::<u64>(), their.parse::<u64>()) {
            (Ok(our), Ok(their)) => our.cmp(&their),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => our.cmp(their),
        };
        if order.is_ne() {
            return order;
        }
    }
    ours.len().cmp(&theirs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_written() {
        for (text, whole) in [
            ("1", "1.0.0"),
            ("v1.2", "1.2.0"),
            ("1.2.3-rc.1+b.5", "1.2.3-rc.1+b.5"),
            ("1.2.3-a-b", "1.2.3-a-b"),
            ("1.2.3-0.0a.-01+01", "1.2.3-0.0a.-01+01"),
        ] {
            assert_eq!(Semver::parse(text).unwrap().to_string(), whole);
        }
        for bad in [
            "",
            "v",
            "1.",
            "1.2.3.4",
            "1.x",
            "latest",
            "1-",
            "1-a..b",
            "1.2.3-ü",
            "-1",
            "1 2",
            "1.0.0-01",
            "1.0.0-rc.00",
        ] {
            assert_eq!(Semver::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn newer_is_greater() {
        let order = [
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-rc.1",
            "1.0.0-rc.2",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0-rc.1",
            "2",
        ];
        for pair in order.windows(2) {
            let [old, new] = [pair[0], pair[1]].map(|text| Semver::parse(text).unwrap());
            assert_eq!(old.precedence(&new), Ordering::Less, "{pair:?}");
            assert_eq!(new.precedence(&old), Ordering::Greater, "{pair:?}");
        }
    }
}
