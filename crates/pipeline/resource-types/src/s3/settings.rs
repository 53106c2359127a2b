//! Settings of `s3` in `source` and `params`.

use std::io::Write;

use regex_lite::Regex;
use serde::Deserialize;

use super::bucket::{Access, Bucket};
use crate::{
    Failure, Object, Part,
    aws::{Keys, keys_of_environment},
    inspect::{Form, Forms, field_names},
    lenient::{flag, switch, text},
    request::{read, read_with_warnings},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Source {
    #[serde(deserialize_with = "text")]
    bucket: Option<String>,
    #[serde(deserialize_with = "text")]
    access_key_id: Option<String>,
    #[serde(deserialize_with = "text")]
    secret_access_key: Option<String>,
    #[serde(deserialize_with = "text")]
    session_token: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_role_arn: Option<String>,
    #[serde(deserialize_with = "flag")]
    enable_aws_creds_provider: bool,
    #[serde(deserialize_with = "text")]
    region_name: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) private: bool,
    #[serde(deserialize_with = "text")]
    cloudfront_url: Option<String>,
    #[serde(deserialize_with = "text")]
    endpoint: Option<String>,
    #[serde(deserialize_with = "flag")]
    disable_ssl: bool,
    #[serde(deserialize_with = "flag")]
    skip_ssl_verification: bool,
    #[serde(deserialize_with = "text")]
    ca_bundle: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) skip_download: bool,
    #[serde(deserialize_with = "text")]
    pub(super) server_side_encryption: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) sse_kms_key_id: Option<String>,
    #[serde(deserialize_with = "flag")]
    use_path_style: bool,
    #[serde(deserialize_with = "text")]
    pub(super) regexp: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) versioned_file: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) initial_path: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) initial_version: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) initial_content_text: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) initial_content_binary: Option<String>,
    /// Read and without effect: this type sends files in one piece and signs them with their hash.
    #[serde(deserialize_with = "flag")]
    #[allow(dead_code, reason = "pipelines have it")]
    disable_multipart: bool,
    #[serde(deserialize_with = "flag")]
    #[allow(dead_code, reason = "pipelines have it")]
    skip_s3_checksums: bool,
    #[serde(deserialize_with = "text")]
    #[allow(dead_code, reason = "pipelines have it")]
    checksum_algorithm: Option<String>,
    #[serde(deserialize_with = "flag")]
    #[allow(dead_code, reason = "pipelines have it")]
    use_v2_signing: bool,
}

/// The objects that are versions.
pub(super) enum ObjectSelector {
    /// Objects whose path matches; the version is part of it.
    Matching(Pattern),
    /// Versions of one object.
    File(String),
}

/// A regular expression for paths, folder by folder.
pub(super) struct Pattern {
    pub(super) text: String,
    whole: Regex,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, Failure> {
        let inner = text.strip_prefix('^').unwrap_or(text);
        let inner = inner.strip_suffix('$').unwrap_or(inner);
        let bad = |words: String| Failure::source("regexp", words);
        let whole = Regex::new(&format!("^(?:{inner})$")).map_err(|error| {
            bad(format!(
                "must be a regular expression: {}",
                airside_model::chain(&error)
            ))
        })?;
        if whole.captures_len() < 2 {
            return Err(bad("has no group in parentheses for the version".to_owned()));
        }
        Ok(Self {
            text: inner.to_owned(),
            whole,
        })
    }

    /// The version in a path, if the path is one of ours.
    pub(super) fn version<'a>(&self, path: &'a str) -> Option<&'a str> {
        let found = self.whole.captures(path)?;
        let named = found.name("version").or_else(|| found.get(1));
        named.map(|group| group.as_str())
    }

    /// The folder that puts go to.
    pub(super) fn folder(&self) -> &str {
        self.text
            .rfind('/')
            .map_or("", |slash| &self.text[..=slash])
    }
}

impl Source {
    pub(super) fn read(
        object: Object,
        log: &mut dyn Write,
    ) -> Result<(Self, ObjectSelector), Failure> {
        let source: Self = read_with_warnings(Part::Source, object, log)?;
        let wanted = match (&source.regexp, &source.versioned_file) {
            (Some(_), Some(_)) => {
                let words = "and source.versioned_file exclude each other: leave one out";
                return Err(Failure::source("regexp", words));
            }
            (Some(regexp), None) => ObjectSelector::Matching(Pattern::new(regexp)?),
            (None, Some(file)) => ObjectSelector::File(file.clone()),
            (None, None) => {
                return Err(Failure::source(
                    "regexp",
                    "or source.versioned_file is needed",
                ));
            }
        };
        source.check_initial(&wanted)?;
        if source.skip_ssl_verification && source.ca_bundle.is_some() {
            let words = "makes no sense with source.skip_ssl_verification";
            return Err(Failure::source("ca_bundle", words));
        }
        if source.cloudfront_url.is_some() {
            let words = "is not supported: give the address as source.endpoint";
            return Err(Failure::source("cloudfront_url", words));
        }
        Ok((source, wanted))
    }

    fn check_initial(&self, wanted: &ObjectSelector) -> Result<(), Failure> {
        let content = self.initial_content_text.is_some() || self.initial_content_binary.is_some();
        let (key, words) = match wanted {
            ObjectSelector::Matching(_) if self.initial_version.is_some() => (
                "initial_version",
                "is for source.versioned_file; use source.initial_path",
            ),
            ObjectSelector::File(_) if self.initial_path.is_some() => (
                "initial_path",
                "is for source.regexp; use source.initial_version",
            ),
            _ if self.initial_content_text.is_some() && self.initial_content_binary.is_some() => (
                "initial_content_text",
                "and source.initial_content_binary exclude each other: leave one out",
            ),
            _ if content && self.initial_path.is_none() && self.initial_version.is_none() => (
                "initial_content_text",
                "needs source.initial_path or source.initial_version",
            ),
            _ => return Ok(()),
        };
        Err(Failure::source(key, words))
    }

    pub(super) fn open(&mut self) -> Result<Bucket, Failure> {
        let given = match (self.access_key_id.take(), self.secret_access_key.take()) {
            (Some(id), Some(secret)) => Some(Keys {
                id,
                secret,
                token: self.session_token.take(),
            }),
            (None, None) => None,
            _ => {
                let words = "and source.secret_access_key belong together";
                return Err(Failure::source("access_key_id", words));
            }
        };
        let keys = match (given, self.enable_aws_creds_provider) {
            (None, true) => keys_of_environment(),
            (given, _) => given,
        };
        Bucket::open(Access {
            bucket: self.bucket.take().unwrap_or_default(),
            keys,
            role: self.aws_role_arn.take(),
            region: self.region_name.take(),
            endpoint: self.endpoint.take(),
            disable_ssl: self.disable_ssl,
            skip_ssl_verification: self.skip_ssl_verification,
            ca_bundle: self.ca_bundle.take(),
            path_style: self.use_path_style,
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InParams {
    #[serde(deserialize_with = "switch")]
    pub(super) skip_download: Option<bool>,
    #[serde(deserialize_with = "flag")]
    pub(super) unpack: bool,
    #[serde(deserialize_with = "flag")]
    pub(super) download_tags: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutParams {
    #[serde(deserialize_with = "text")]
    pub(super) file: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) acl: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) content_type: Option<String>,
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Source>,
        read: |object| {
            let (source, _) = Source::read(object, &mut std::io::sink())?;
            match source.bucket {
                Some(_) => Ok(()),
                None => Err(Failure::source("bucket", "is missing")),
            }
        },
    },
    get: Form {
        keys: field_names::<InParams>,
        read: |object| read::<InParams>(Part::Params, object).map(drop),
    },
    put: Form {
        keys: field_names::<OutParams>,
        read: |object| read::<OutParams>(Part::Params, object).map(drop),
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_part_of_paths() {
        for (pattern, path, version) in [
            ("a/b-(.*).tgz", "a/b-1.2.tgz", Some("1.2")),
            ("^a/b-(.*).tgz$", "a/b-1.2.tgz", Some("1.2")),
            ("a/b-(.*).tgz", "x/a/b-1.2.tgz", None),
            ("(x|y)-(?P<version>.*)", "y-3", Some("3")),
            ("(x|y)-(.*)", "y-3", Some("y")),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            assert_eq!(pattern.version(path), version, "{path}");
        }
        assert_eq!(Pattern::new("a/b/c-(.*)").unwrap().folder(), "a/b/");
        assert_eq!(Pattern::new("c-(.*)").unwrap().folder(), "");
        assert!(Pattern::new("(").is_err() && Pattern::new("none").is_err());
    }
}
