//! Settings of `github-release` in `source` and `params`.

use std::io::Write;

use airside_blocking_http::Address;
use serde::Deserialize;

use super::tags::TagFilter;
use crate::{
    Failure, Object, Part,
    inspect::{Form, Forms, field_names},
    lenient::{flag, switch, text, texts},
    request::{read as read_settings, read_with_warnings},
    versions::Constraint,
};

const API: &str = "https://api.github.com";
const UPLOADS: &str = "https://uploads.github.com";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(deserialize_with = "text")]
    owner: Option<String>,
    /// The older name of the owner.
    #[serde(deserialize_with = "text")]
    user: Option<String>,
    #[serde(deserialize_with = "text")]
    repository: Option<String>,
    #[serde(deserialize_with = "text")]
    access_token: Option<String>,
    #[serde(deserialize_with = "text")]
    github_api_url: Option<String>,
    #[serde(deserialize_with = "text")]
    #[allow(dead_code, reason = "pipelines have it, and the other API suffices")]
    github_v4_api_url: Option<String>,
    #[serde(deserialize_with = "text")]
    github_uploads_url: Option<String>,
    #[serde(deserialize_with = "flag")]
    insecure: bool,
    #[serde(deserialize_with = "switch")]
    release: Option<bool>,
    #[serde(deserialize_with = "flag")]
    pre_release: bool,
    #[serde(deserialize_with = "flag")]
    drafts: bool,
    #[serde(deserialize_with = "text")]
    tag_filter: Option<String>,
    #[serde(deserialize_with = "text")]
    order_by: Option<String>,
    #[serde(deserialize_with = "text")]
    semver_constraint: Option<String>,
    #[serde(deserialize_with = "flag")]
    asset_dir: bool,
}

/// The order of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseOrder {
    Version,
    Time,
}

/// Repository, servers and credentials: all that a request needs.
pub(super) struct GithubRepository {
    pub(super) owner: String,
    pub(super) repository: String,
    pub(super) token: Option<String>,
    /// Address of the API without a slash at the end, as is `uploads`.
    pub(super) api: String,
    pub(super) uploads: String,
    pub(super) insecure: bool,
}

/// The releases that count, and their order.
pub(super) struct ReleaseChoice {
    pub(super) release: bool,
    pub(super) pre_release: bool,
    pub(super) drafts: bool,
    pub(super) tag_filter: TagFilter,
    pub(super) constraint: Option<Constraint>,
    pub(super) order: ReleaseOrder,
}

/// A source that was understood.
pub(super) struct Source {
    pub(super) place: GithubRepository,
    pub(super) choice: ReleaseChoice,
    pub(super) asset_dir: bool,
}

impl Source {
    pub(super) fn read(object: Object, log: &mut dyn Write) -> Result<Self, Failure> {
        let written: Written = read_with_warnings(Part::Source, object, log)?;
        Ok(Self {
            asset_dir: written.asset_dir,
            choice: written.choice()?,
            place: written.place()?,
        })
    }
}

impl Written {
    fn choice(&self) -> Result<ReleaseChoice, Failure> {
        let constraint = match &self.semver_constraint {
            None => None,
            Some(text) => Some(Constraint::parse(text).ok_or_else(|| {
                let words = format!("is {text:?}, which is not a range of versions");
                Failure::source("semver_constraint", words)
            })?),
        };
        let order = match self.order_by.as_deref() {
            None | Some("version") => ReleaseOrder::Version,
            Some("time") => ReleaseOrder::Time,
            Some(other) => {
                let words = format!("is {other:?}; releases are ordered by version or time");
                return Err(Failure::source("order_by", words));
            }
        };
        Ok(ReleaseChoice {
            release: self.release.unwrap_or(true),
            pre_release: self.pre_release,
            drafts: self.drafts,
            tag_filter: TagFilter::new(self.tag_filter.as_deref())?,
            constraint,
            order,
        })
    }

    fn place(self) -> Result<GithubRepository, Failure> {
        let owner = name("owner", self.user.or(self.owner))?;
        let repository = name("repository", self.repository)?;
        let is_public = self.github_api_url.is_none();
        let api = server("github_api_url", self.github_api_url, API)?;
        let elsewhere = if is_public { UPLOADS } else { &api };
        let uploads = server("github_uploads_url", self.github_uploads_url, elsewhere)?;
        Ok(GithubRepository {
            owner,
            repository,
            token: self.access_token,
            api,
            uploads,
            insecure: self.insecure,
        })
    }
}

/// A name that is one part of a path.
fn name(key: &str, value: Option<String>) -> Result<String, Failure> {
    let value = value.ok_or_else(|| Failure::source(key, "is missing"))?;
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !value.bytes().all(fine) || value.bytes().all(|byte| byte == b'.') {
        let words = format!("is {value:?}; GitHub's names have letters, digits, '-', '_' and '.'");
        return Err(Failure::source(key, words));
    }
    Ok(value)
}

fn server(key: &str, value: Option<String>, default: &str) -> Result<String, Failure> {
    let url = value.unwrap_or_else(|| default.to_owned());
    let bad = |why: String| Failure::source(key, format!("is not valid: {why}"));
    let address = Address::parse(&url).map_err(|error| bad(airside_model::chain(&error)))?;
    if address.target().contains('?') {
        return Err(bad("an address of an API has no query".to_owned()));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InParams {
    #[serde(deserialize_with = "texts")]
    pub(super) globs: Vec<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) include_source_tarball: bool,
    #[serde(deserialize_with = "flag")]
    pub(super) include_source_zip: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutParams {
    #[serde(deserialize_with = "text")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tag: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tag_prefix: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) commitish: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) body: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) globs: Vec<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) generate_release_notes: bool,
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Written>,
        read: |object| Source::read(object, &mut std::io::sink()).map(drop),
    },
    get: Form {
        keys: field_names::<InParams>,
        read: |object| read_settings::<InParams>(Part::Params, object).map(drop),
    },
    put: Form {
        keys: field_names::<OutParams>,
        read: |object| read_settings::<OutParams>(Part::Params, object).map(drop),
    },
};
