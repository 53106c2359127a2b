//! Names of repositories and of what is in them, as the specification allows them. Nothing else becomes a path.

use std::fmt;

use airside_model::image::{Digest, is_name_part, is_tag};

use crate::Error;

const LONGEST: usize = 255;
/// How teams are named whose own name no repository may have.
const SPELLED: &str = "hex-";

/// Words of lower-case letters and digits, joined by `.`, `_`, `__` or `-`, with `/` between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository(String);

impl Repository {
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() <= LONGEST && text.split('/').all(is_name_part) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::Name(text.to_owned()))
    }

    /// What a team's repositories begin with. No two teams have the same.
    pub fn of_team(team: &str) -> Self {
        let plain = is_name_part(team) && !team.starts_with(SPELLED) && team.len() <= 128;
        Self(match plain {
            true => format!("team/{team}"),
            false => format!("team/{SPELLED}{}", hex::encode(team)),
        })
    }

    /// One below this.
    pub fn join(&self, name: &str) -> Result<Self, Error> {
        Self::parse(&format!("{self}/{name}"))
    }

    /// Whether `other` is this one or below it.
    pub fn holds(&self, other: &Self) -> bool {
        let below = other.0.strip_prefix(&self.0);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name for a manifest that may come to mean another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(String);

impl Tag {
    pub fn parse(text: &str) -> Result<Self, Error> {
        if is_tag(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::Tag(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a manifest is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Tag(Tag),
    Digest(Digest),
}

impl Reference {
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text.contains(':') {
            true => digest(text).map(Self::Digest),
            false => Tag::parse(text).map(Self::Tag),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(&tag.0),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

pub(crate) fn digest(text: &str) -> Result<Digest, Error> {
    Digest::parse(text).map_err(|_| Error::Digest(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_and_may_not_be() {
        for good in ["a", "team/main/artifacts", "a.b_c__d-e---f/0", "a/b/c/d/e"] {
            assert!(Repository::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(256);
        for bad in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            "..",
            "a/../b",
            "A",
            "a b",
            "a..b",
            "a___b",
            "-a",
            "a-",
            "_tags",
            "a/_tags",
            ".a",
            "ä",
            "a%2fb",
            "a\\b",
            "a\0",
            long.as_str(),
        ] {
            assert!(Repository::parse(bad).is_err(), "{bad}");
        }
        for good in ["latest", "_", "V1.0-rc", "0"] {
            assert!(Tag::parse(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "-a", "a/b", "a:b", "ä", &long[..129]] {
            assert!(Tag::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_two_teams_share_a_name() {
        for (team, name) in [
            ("main", "team/main"),
            ("Main", "team/hex-4d61696e"),
            ("hex-4d61696e", "team/hex-6865782d3464363136393665"),
            ("a/b", "team/hex-612f62"),
            ("..", "team/hex-2e2e"),
            ("日本", "team/hex-e697a5e69cac"),
        ] {
            assert_eq!(Repository::of_team(team).as_str(), name);
            assert!(Repository::parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn below_is_by_whole_words() {
        let ours = Repository::of_team("main");
        for (other, held) in [
            ("team/main", true),
            ("team/main/a/b", true),
            ("team/main2/a", false),
            ("team", false),
            ("other/team/main", false),
        ] {
            assert_eq!(
                ours.holds(&Repository::parse(other).unwrap()),
                held,
                "{other}"
            );
        }
    }
}
