//! `check`: the releases since a version.

use std::{cmp::Ordering, io::Write};

use airside_model::Version;
use jiff::Timestamp;

use super::{
    api::Api,
    release::ListedRelease,
    settings::{ReleaseChoice, ReleaseOrder, Source},
};
use crate::{
    CheckInput, Failure,
    versions::{SemiSemantic, Semver},
};

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let source = Source::read(request.source, log)?;
    let releases = Api::new(&source.place)?.releases()?;
    let versions = source.choice.versions(releases, request.version.as_ref());
    Ok(versions)
}

impl ReleaseChoice {
    /// Picks the releases that count, and of them those from the given one on, oldest first: the
    /// newest one if none is given, or if all are older.
    fn versions(&self, mut releases: Vec<ListedRelease>, from: Option<&Version>) -> Vec<Version> {
        releases.retain(|release| self.counts(release));
        releases.sort_by(|one, other| self.compare(one, other));
        let Some(newest) = releases.len().checked_sub(1) else {
            return Vec::new();
        };
        let first = from
            .and_then(|version| self.asked(version))
            .map(|from| releases.partition_point(|release| self.compare(release, &from).is_lt()));
        let first = first.filter(|first| *first <= newest).unwrap_or(newest);
        releases[first..]
            .iter()
            .map(ListedRelease::version)
            .collect()
    }

    fn counts(&self, release: &ListedRelease) -> bool {
        let tag = release.tag();
        let version = self.tag_filter.version(tag);
        let in_range = self.constraint.as_ref().is_none_or(|range| {
            Semver::parse(version).is_some_and(|version| range.allows(&version))
        });
        let has_order = match self.order {
            ReleaseOrder::Time => self.tag_filter.matches(tag) && release.time().is_some(),
            ReleaseOrder::Version => SemiSemantic::parse(version).is_some(),
        };
        // Without either, Concourse's type finds both.
        let is_kind = if release.prerelease {
            self.pre_release || !self.release
        } else {
            self.release || !self.pre_release
        };
        release.draft == self.drafts && is_kind && in_range && has_order
    }

    fn compare(&self, one: &ListedRelease, other: &ListedRelease) -> Ordering {
        match self.order {
            ReleaseOrder::Time => one.time().cmp(&other.time()),
            ReleaseOrder::Version => {
                let version = |release| SemiSemantic::parse(self.tag_filter.version(release));
                match (version(one.tag()), version(other.tag())) {
                    (Some(one), Some(other)) => one.precedence(&other),
                    (one, other) => one.is_some().cmp(&other.is_some()),
                }
            }
        }
    }

    /// Returns a release in the place of the version that a check begins with, if the version has
    /// what the order goes by.
    fn asked(&self, version: &Version) -> Option<ListedRelease> {
        let value = |key: &str| version.0.get(key);
        let time = value("timestamp").and_then(|text| text.parse::<Timestamp>().ok());
        let release = ListedRelease {
            tag_name: value("tag").cloned(),
            published_at: time,
            ..ListedRelease::default()
        };
        let fits = match self.order {
            ReleaseOrder::Time => time.is_some(),
            ReleaseOrder::Version => {
                SemiSemantic::parse(self.tag_filter.version(release.tag())).is_some()
            }
        };
        fits.then_some(release)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn choice(mut more: Value) -> ReleaseChoice {
        more["owner"] = json!("o");
        more["repository"] = json!("r");
        let object = more.as_object().unwrap().clone();
        Source::read(object, &mut Vec::new()).unwrap().choice
    }

    /// Tag, draft, pre-release and minute of publication.
    fn releases() -> Vec<ListedRelease> {
        [
            ("v1.10.0", false, false, 1),
            ("v1.2.0", false, false, 5),
            ("v1.9.0", false, false, 3),
            ("v2.0.0-rc.1", false, true, 4),
            ("v3.0.0", true, false, 6),
            ("nightly/x", false, false, 7),
        ]
        .into_iter()
        .enumerate()
        .map(|(id, (tag, draft, prerelease, minute))| ListedRelease {
            id: id as u64,
            tag_name: Some(tag.to_owned()),
            draft,
            prerelease,
            created_at: None,
            published_at: format!("2026-01-02T03:0{minute}:00Z").parse().ok(),
        })
        .collect()
    }

    fn tags(source: Value, from: Option<Value>) -> Vec<String> {
        let from = from.map(|from| serde_json::from_value::<Version>(from).unwrap());
        let versions = choice(source).versions(releases(), from.as_ref());
        versions
            .iter()
            .map(|version| version.0["tag"].clone())
            .collect()
    }

    #[test]
    fn releases_are_chosen_and_ordered() {
        let from = || Some(json!({"tag": "v1.0.0", "timestamp": "2026-01-02T03:00:00Z"}));
        for (source, found) in [
            (json!({}), &["v1.2.0", "v1.9.0", "v1.10.0"][..]),
            (
                json!({"release": false}),
                &["v1.2.0", "v1.9.0", "v1.10.0", "v2.0.0-rc.1"],
            ),
            (
                json!({"release": false, "pre_release": true}),
                &["v2.0.0-rc.1"],
            ),
            (
                json!({"pre_release": true}),
                &["v1.2.0", "v1.9.0", "v1.10.0", "v2.0.0-rc.1"],
            ),
            (json!({"drafts": true}), &["v3.0.0"]),
            (json!({"semver_constraint": "~1.9"}), &["v1.9.0"]),
            (
                json!({"order_by": "time"}),
                &["v1.10.0", "v1.9.0", "v1.2.0", "nightly/x"],
            ),
            (
                json!({"order_by": "time", "tag_filter": "nightly"}),
                &["nightly/x"],
            ),
            (json!({"tag_filter": "v1.9(.*)0"}), &[]),
        ] {
            assert_eq!(tags(source.clone(), from()), found, "{source}");
        }
    }

    #[test]
    fn a_check_begins_with_the_version_it_was_given() {
        let by_time = || json!({"order_by": "time"});
        for (source, from, found) in [
            (json!({}), None, &["v1.10.0"][..]),
            (
                json!({}),
                Some(json!({"tag": "v1.9.0"})),
                &["v1.9.0", "v1.10.0"],
            ),
            (
                json!({}),
                Some(json!({"tag": "v1.3.0"})),
                &["v1.9.0", "v1.10.0"],
            ),
            (json!({}), Some(json!({"tag": "v9.0.0"})), &["v1.10.0"]),
            (json!({}), Some(json!({"tag": "no version"})), &["v1.10.0"]),
            (by_time(), None, &["nightly/x"]),
            (
                by_time(),
                Some(json!({"timestamp": "2026-01-02T03:04:30.5Z"})),
                &["v1.2.0", "nightly/x"],
            ),
            (by_time(), Some(json!({"tag": "v1.9.0"})), &["nightly/x"]),
        ] {
            assert_eq!(tags(source, from.clone()), found, "{from:?}");
        }
        assert!(choice(json!({})).versions(Vec::new(), None).is_empty());
    }
}
