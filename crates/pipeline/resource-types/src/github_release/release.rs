//! Releases and assets, as far as GitHub's answers are read.

use airside_model::{MetadataField, Version};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};

/// Longest part of a description that a page shows.
const MAX_BODY: usize = 10 << 10;

/// A release in a list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListedRelease {
    pub(super) id: u64,
    pub(super) tag_name: Option<String>,
    pub(super) draft: bool,
    pub(super) prerelease: bool,
    #[serde(deserialize_with = "moment")]
    pub(super) created_at: Option<Timestamp>,
    #[serde(deserialize_with = "moment")]
    pub(super) published_at: Option<Timestamp>,
}

fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let parsed = text.map(|text| text.parse().map_err(D::Error::custom));
    parsed.transpose()
}

impl ListedRelease {
    pub(super) fn tag(&self) -> &str {
        self.tag_name.as_deref().unwrap_or_default()
    }

    /// Returns when the release was published, or else when it was made.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.published_at.or(self.created_at)
    }

    pub(super) fn version(&self) -> Version {
        let time = match self.time() {
            Some(time) => time.to_string(),
            // The time that Concourse's type has for none.
            None => "0001-01-01T00:00:00Z".to_owned(),
        };
        let mut version = Version::from([("id", self.id.to_string()), ("timestamp", time)]);
        if !self.tag().is_empty() {
            version.0.insert("tag".to_owned(), self.tag().to_owned());
        }
        version
    }
}

/// A release with its texts.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) listed: ListedRelease,
    pub(super) texts: ReleaseTexts,
}

/// The texts of a release.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReleaseTexts {
    pub(super) name: Option<String>,
    pub(super) body: Option<String>,
    pub(super) html_url: Option<String>,
}

impl Release {
    pub(super) fn metadata(&self, commit: Option<&str>) -> Vec<MetadataField> {
        let texts = &self.texts;
        let body = texts.body.as_deref();
        let body = body.map(|body| &body[..body.floor_char_boundary(MAX_BODY)]);
        let when = |set: bool| set.then_some("true");
        [
            ("name", texts.name.as_deref()),
            ("url", texts.html_url.as_deref()),
            ("body", body),
            ("tag", self.listed.tag_name.as_deref()),
            ("commit_sha", commit),
            ("draft", when(self.listed.draft)),
            ("pre-release", when(self.listed.prerelease)),
        ]
        .into_iter()
        .filter_map(|(name, value)| {
            Some(MetadataField {
                name: name.to_owned(),
                value: value?.to_owned(),
            })
        })
        .collect()
    }
}

/// A file of a release.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asset {
    pub(super) id: u64,
    pub(super) name: String,
    state: String,
    pub(super) size: u64,
    /// `sha256:` and the hash, of servers that have it.
    digest: Option<String>,
}

impl Asset {
    /// Returns false while, or because, its upload did not end.
    pub(super) fn is_uploaded(&self) -> bool {
        self.state == "uploaded"
    }

    pub(super) fn sha256(&self) -> Option<&str> {
        self.digest.as_deref()?.strip_prefix("sha256:")
    }

    /// Returns true if the name is that of a file, and not a way out of the folder.
    pub(super) fn has_plain_name(&self) -> bool {
        let name = self.name.as_str();
        !matches!(name, "" | "." | "..")
            && name.len() <= 255
            && !name.contains(|c: char| c == '/' || c == '\\' || c.is_control())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_assets_stay_in_their_folder() {
        for (name, plain) in [
            ("fly-7.14.1-linux-amd64.tgz", true),
            (".sha256", true),
            ("..data", true),
            ("", false),
            (".", false),
            ("..", false),
            ("../x", false),
            ("/etc/passwd", false),
            ("a\\b", false),
            ("a\nb", false),
            ("a\0b", false),
        ] {
            let name = name.to_owned();
            let asset = Asset {
                name,
                ..Asset::default()
            };
            assert_eq!(asset.has_plain_name(), plain, "{:?}", asset.name);
        }
    }
}
