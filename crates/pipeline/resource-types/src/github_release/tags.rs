//! Versions in the names of tags.

use regex_lite::Regex;

use crate::Failure;

const DEFAULT: &str = "^v?([^v].*)";

/// The regular expression that finds a version in a tag.
pub(super) struct TagFilter(Regex);

impl TagFilter {
    pub(super) fn new(pattern: Option<&str>) -> Result<Self, Failure> {
        let pattern = pattern.unwrap_or(DEFAULT);
        let regex = Regex::new(pattern).map_err(|error| {
            let words = format!(
                "is {pattern:?}, which is not a regular expression: {}",
                airside_model::chain(&error)
            );
            Failure::source("tag_filter", words)
        })?;
        Ok(Self(regex))
    }

    pub(super) fn matches(&self, tag: &str) -> bool {
        self.0.is_match(tag)
    }

    /// Returns the last group of the match, or all of it if there are no groups; empty if the tag
    /// does not match.
    pub(super) fn version<'t>(&self, tag: &'t str) -> &'t str {
        let Some(found) = self.0.captures(tag) else {
            return "";
        };
        let last = found.get(found.len() - 1);
        last.map_or("", |part| part.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_last_group_or_the_match() {
        for (pattern, tag, version) in [
            (None, "v1.2.3", "1.2.3"),
            (None, "1.2.3", "1.2.3"),
            (None, "vv1", ""),
            (None, "v", ""),
            (Some("version-(.*)"), "my-version-1.2", "1.2"),
            (Some("(a)-(.*)"), "a-3", "3"),
            (Some("[0-9.]+"), "rel-1.2-x", "1.2"),
            (Some("(x)?y"), "y", ""),
            (Some("z"), "y", ""),
        ] {
            let filter = TagFilter::new(pattern).unwrap();
            assert_eq!(filter.version(tag), version, "{pattern:?} {tag}");
        }
        assert!(TagFilter::new(Some("(")).is_err());
    }
}
