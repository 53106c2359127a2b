//! Topics: questions to registries about an image by its name, or about the newest tags of a
//! repository that match.

use std::fmt;

use airside_image_rules::WantedImage;
use airside_oci::{BadReference, Reference, Repository, TagOrDigest};
use airside_resource_types::{Constraint, Semver};

/// A question, and the logins that may be used for it. Sets that ask the same question with the
/// same logins share the answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Topic {
    pub(crate) question: Question,
    pub(crate) secrets: Option<Secrets>,
}

/// Pull secrets of a namespace, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Secrets {
    pub(crate) namespace: String,
    pub(crate) names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Question {
    Image(Reference),
    Tags {
        repository: Repository,
        rule: TagRule,
        keep: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TagRule {
    Semver(String),
    Pattern(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadQuestion {
    #[error(transparent)]
    Name(#[from] BadReference),
    #[error("{0:?} is not a range of versions such as ^1.4 or >=2, <3")]
    Range(String),
    #[error("give either image, or repository with semver or pattern")]
    Shape,
}

impl Question {
    pub(crate) fn of(wanted: &WantedImage) -> Result<Self, BadQuestion> {
        let rule = match (&wanted.semver, &wanted.pattern) {
            (Some(range), None) => match Constraint::parse(range) {
                Some(_) => Some(TagRule::Semver(range.clone())),
                None => return Err(BadQuestion::Range(range.clone())),
            },
            (None, Some(pattern)) => Some(TagRule::Pattern(pattern.clone())),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(BadQuestion::Shape),
        };
        match (&wanted.image, &wanted.repository, rule) {
            (Some(image), None, None) => Ok(Self::Image(image.parse()?)),
            (None, Some(repository), Some(rule)) => Ok(Self::Tags {
                repository: repository.parse()?,
                rule,
                keep: wanted.keep.max(1),
            }),
            _ => Err(BadQuestion::Shape),
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        match self {
            Self::Image(image) => image.repository(),
            Self::Tags { repository, .. } => repository,
        }
    }

    /// Returns true if the answer never changes.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Self::Image(image) if matches!(image.which(), TagOrDigest::Digest(_)))
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(image) => write!(f, "{image}"),
            Self::Tags {
                repository, rule, ..
            } => match rule {
                TagRule::Semver(range) => write!(f, "{repository}:{range}"),
                TagRule::Pattern(pattern) => write!(f, "{repository}:{pattern}"),
            },
        }
    }
}

impl TagRule {
    /// The newest `keep` of these tags that fit, the newest first.
    pub(crate) fn choose(&self, tags: Vec<String>, keep: u32) -> Vec<String> {
        let mut fitting: Vec<(Option<Semver>, String)> = match self {
            Self::Semver(range) => {
                let Some(range) = Constraint::parse(range) else {
                    return Vec::new();
                };
                let fits = |tag: String| {
                    let version = Semver::parse(&tag)?;
                    range.allows(&version).then_some((Some(version), tag))
                };
                tags.into_iter().filter_map(fits).collect()
            }
            Self::Pattern(pattern) => tags
                .into_iter()
                .filter(|tag| matches(pattern, tag))
                .map(|tag| (Semver::parse(&tag), tag))
                .collect(),
        };
        fitting.sort_by(|(version, tag), (other_version, other)| {
            // Whatever is a version is newer than what is none.
            let by_version = match (version, other_version) {
                (Some(version), Some(other)) => version.precedence(other),
                (version, other) => version.is_some().cmp(&other.is_some()),
            };
            by_version.then_with(|| tag.cmp(other)).reverse()
        });
        let newest = fitting.into_iter().take(keep as usize);
        newest.map(|(_, tag)| tag).collect()
    }
}

/// `*` stands for anything; in time proportional to both lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_fit_the_newest_first() {
        let tags = [
            "1.4.0",
            "latest",
            "1.10.1",
            "v1.9",
            "2.0.0",
            "1.11.0-rc.1",
            "1.4",
            "main-7",
            "main-6",
        ];
        let choose = |rule: TagRule, keep| {
            rule.choose(tags.map(str::to_owned).to_vec(), keep)
                .join(" ")
        };
        let semver = |range: &str| TagRule::Semver(range.to_owned());
        let pattern = |text: &str| TagRule::Pattern(text.to_owned());
        for (rule, keep, expected) in [
            (semver("^1.4"), 1, "1.10.1"),
            (semver("^1.4"), 3, "1.10.1 v1.9 1.4.0"),
            (semver(">=2, <3"), 5, "2.0.0"),
            (semver("^7"), 5, ""),
            (pattern("main-*"), 1, "main-7"),
            (pattern("1.*"), 2, "1.11.0-rc.1 1.10.1"),
            (
                pattern("*"),
                32,
                "2.0.0 1.11.0-rc.1 1.10.1 v1.9 1.4.0 1.4 main-7 main-6 latest",
            ),
            (pattern("latest"), 1, "latest"),
        ] {
            assert_eq!(choose(rule.clone(), keep), expected, "{rule:?} {keep}");
        }
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("*a", "ba", true),
            ("a*a", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("**", "", true),
            ("*-alpine", "3.2-alpine", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn questions_that_make_no_sense() {
        let of = |image: &str, repository: &str, semver: &str, pattern: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let wanted = WantedImage {
                image: given(image),
                repository: given(repository),
                semver: given(semver),
                pattern: given(pattern),
                keep: 1,
            };
            Question::of(&wanted)
                .map(|question| question.to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            of("busybox", "", "", "").unwrap(),
            "docker.io/library/busybox:latest"
        );
        assert_eq!(of("", "r.example/a", "^1", "").unwrap(), "r.example/a:^1");
        for (image, repository, semver, pattern) in [
            ("A B", "", "", ""),
            ("a", "", "^1", ""),
            ("", "a", "", ""),
            ("", "a", "^1", "*"),
            ("", "a", "not one", ""),
            ("", "a:tag", "^1", ""),
            ("", "", "", ""),
        ] {
            assert!(
                of(image, repository, semver, pattern).is_err(),
                "{image} {repository} {semver} {pattern}"
            );
        }
    }
}
