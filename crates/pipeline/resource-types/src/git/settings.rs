//! Settings of `git` in `source` and `params`.

use std::io::Write;

use serde::Deserialize;
use serde_json::Value;

use super::{
    access::{Access, Setting, SubmoduleCredentials, Tunnel},
    remote::Remote,
};
use crate::{
    Failure, Object, Part,
    inspect::{Form, Forms, field_names},
    lenient::{flag, number, switch, text, texts},
    request::read_with_warnings,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Source {
    #[serde(deserialize_with = "text")]
    uri: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) branch: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key_user: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key_passphrase: Option<String>,
    #[serde(deserialize_with = "text")]
    known_hosts: Option<String>,
    #[serde(deserialize_with = "flag")]
    forward_agent: bool,
    #[serde(deserialize_with = "text")]
    username: Option<String>,
    #[serde(deserialize_with = "text")]
    password: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) paths: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) sparse_paths: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) ignore_paths: Vec<String>,
    #[serde(deserialize_with = "flag")]
    skip_ssl_verification: bool,
    #[serde(deserialize_with = "text")]
    pub(super) tag_filter: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tag_regex: Option<String>,
    pub(super) tag_behaviour: TagBehaviour,
    pub(super) version_type: VersionType,
    pub(super) tag_sort: TagSort,
    #[serde(deserialize_with = "texts")]
    pub(super) branch_filters: Vec<String>,
    #[serde(deserialize_with = "text")]
    pub(super) branch_regex: Option<String>,
    #[serde(deserialize_with = "switch")]
    pub(super) fetch_tags: Option<bool>,
    submodule_credentials: Vec<SubmoduleCredentials>,
    git_config: Vec<Setting>,
    #[serde(deserialize_with = "flag")]
    pub(super) disable_ci_skip: bool,
    #[serde(deserialize_with = "texts")]
    pub(super) commit_verification_keys: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) commit_verification_key_ids: Vec<String>,
    #[serde(deserialize_with = "text")]
    pub(super) gpg_keyserver: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) git_crypt_key: Option<String>,
    https_tunnel: Option<Tunnel>,
    pub(super) commit_filter: CommitFilter,
    #[serde(deserialize_with = "number")]
    pub(super) version_depth: Option<u32>,
    #[serde(deserialize_with = "flag")]
    pub(super) search_remote_refs: bool,
    #[serde(deserialize_with = "flag")]
    debug: bool,
}

/// The commits that a tag makes a version of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TagBehaviour {
    #[default]
    MatchTagged,
    MatchTagAncestors,
}

/// The kind of thing in a repository that a version is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum VersionType {
    #[default]
    Commits,
    Tags,
    /// A version is the whole list of branches.
    Branches,
}

/// The order of tags where versions are tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TagSort {
    #[default]
    #[serde(alias = "date")]
    Creatordate,
    /// `v1.9` comes before `v1.10`.
    #[serde(alias = "version:refname")]
    Version,
    #[serde(alias = "name")]
    Refname,
}

/// The commits that count, by their message.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Object")]
pub(super) struct CommitFilter {
    pub(super) include: Vec<String>,
    pub(super) include_all_match: bool,
    pub(super) exclude: Vec<String>,
    pub(super) exclude_all_match: bool,
}

impl TryFrom<Object> for CommitFilter {
    type Error = String;

    /// Reads a map, and lists in it: a text or a list in its place is a mistake in Concourse's type
    /// too.
    fn try_from(object: Object) -> Result<Self, String> {
        let mut filter = Self::default();
        for (key, value) in object {
            let patterns = || match &value {
                Value::Null => Ok(Vec::new()),
                Value::Array(_) => texts(&value).map_err(|error| airside_model::chain(&error)),
                other => Err(format!("{key} is {other}, and must be a list")),
            };
            let all = || flag(&value).map_err(|error| airside_model::chain(&error));
            match key.as_str() {
                "include" => filter.include = patterns()?,
                "include_all_match" => filter.include_all_match = all()?,
                "exclude" => filter.exclude = patterns()?,
                "exclude_all_match" => filter.exclude_all_match = all()?,
                other => return Err(format!("{other:?} is not a key of it")),
            }
        }
        Ok(filter)
    }
}

impl Source {
    pub(super) fn read(object: Object, log: &mut dyn Write) -> Result<Self, Failure> {
        let source: Self = read_with_warnings(Part::Source, object, log)?;
        if source.tag_filter.is_some() && source.tag_regex.is_some() {
            let words = "and source.tag_regex exclude each other: leave one out";
            return Err(Failure::source("tag_filter", words));
        }
        if source.version_depth == Some(0) {
            return Err(Failure::source("version_depth", "must be at least 1"));
        }
        if !source.branch_filters.is_empty() && source.branch_regex.is_some() {
            let words = "and source.branch_regex exclude each other: leave one out";
            return Err(Failure::source("branch_filters", words));
        }
        for (key, value) in [
            ("branch", &source.branch),
            ("tag_filter", &source.tag_filter),
        ] {
            plain(Part::Source, key, value.as_deref().unwrap_or_default())?;
        }
        for filter in &source.branch_filters {
            plain(Part::Source, "branch_filters", filter)?;
        }
        Ok(source)
    }

    /// Returns true if versions are tags, or commits that have one.
    pub(super) fn wants_tags(&self) -> bool {
        self.version_type == VersionType::Tags
            || self.tag_filter.is_some()
            || self.tag_regex.is_some()
    }

    /// True if only some paths count.
    pub(super) fn limits_paths(&self) -> bool {
        !self.ignore_paths.is_empty() || !everything(&self.paths)
    }

    pub(super) fn is_sparse(&self) -> bool {
        !everything(&self.sparse_paths)
    }

    /// Returns the access to the repository, secrets included.
    pub(super) fn access(&mut self) -> Access {
        Access {
            uri: self.uri.take(),
            private_key: self.private_key.take(),
            private_key_user: self.private_key_user.take(),
            private_key_passphrase: self.private_key_passphrase.take(),
            known_hosts: self.known_hosts.take(),
            forward_agent: self.forward_agent,
            username: self.username.take(),
            password: self.password.take(),
            skip_ssl_verification: self.skip_ssl_verification,
            submodule_credentials: std::mem::take(&mut self.submodule_credentials),
            git_config: std::mem::take(&mut self.git_config),
            https_tunnel: self.https_tunnel.take(),
            debug: self.debug,
        }
    }
}

fn everything(paths: &[String]) -> bool {
    paths.iter().all(|path| path == ".")
}

/// Refuses what git would take for an option.
pub(super) fn plain(part: Part, key: &str, value: &str) -> Result<(), Failure> {
    if value.starts_with('-') || value.contains(['\n', '\0']) {
        return Err(Failure::Key {
            part,
            key: key.to_owned(),
            words: format!("is {value:?}, which no {key} may be"),
        });
    }
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InParams {
    #[serde(deserialize_with = "number")]
    pub(super) depth: Option<u32>,
    #[serde(deserialize_with = "texts")]
    pub(super) fetch: Vec<String>,
    #[serde(deserialize_with = "switch")]
    pub(super) fetch_tags: Option<bool>,
    pub(super) submodules: Submodules,
    #[serde(deserialize_with = "switch")]
    pub(super) submodule_recursive: Option<bool>,
    #[serde(deserialize_with = "flag")]
    pub(super) submodule_remote: bool,
    #[serde(deserialize_with = "flag")]
    pub(super) disable_git_lfs: bool,
    #[serde(deserialize_with = "flag")]
    pub(super) clean_tags: bool,
    #[serde(deserialize_with = "text")]
    pub(super) short_ref_format: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) timestamp_format: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) describe_ref_options: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) all_branches: bool,
    #[serde(deserialize_with = "flag")]
    pub(super) debug: bool,
}

impl InParams {
    pub(super) fn read(object: Object, log: &mut dyn Write) -> Result<Self, Failure> {
        let params: Self = read_with_warnings(Part::Params, object, log)?;
        for branch in &params.fetch {
            plain(Part::Params, "fetch", branch)?;
        }
        Ok(params)
    }
}

/// The submodules that a get brings along.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub(super) enum Submodules {
    #[default]
    All,
    None,
    These(Vec<String>),
}

impl TryFrom<serde_json::Value> for Submodules {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, String> {
        match value {
            serde_json::Value::Null => Ok(Self::All),
            serde_json::Value::String(word) if word == "all" => Ok(Self::All),
            serde_json::Value::String(word) if word == "none" => Ok(Self::None),
            serde_json::Value::Array(_) => serde_json::from_value(value)
                .map(Self::These)
                .map_err(|error| airside_model::chain(&error)),
            other => Err(format!("{other} is not all, none or a list of paths")),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutParams {
    #[serde(deserialize_with = "text")]
    pub(super) repository: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) rebase: bool,
    #[serde(deserialize_with = "text")]
    pub(super) rebase_strategy: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) rebase_strategy_option: Vec<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) merge: bool,
    pub(super) returning: Returning,
    #[serde(deserialize_with = "text")]
    pub(super) tag: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) only_tag: bool,
    #[serde(deserialize_with = "text")]
    pub(super) tag_prefix: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) force: bool,
    #[serde(deserialize_with = "text")]
    pub(super) annotate: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) notes: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) branch: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) refs_prefix: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) push_options: Vec<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) debug: bool,
}

/// The commit that a put that merged answers with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Returning {
    #[default]
    Merged,
    Unmerged,
}

impl OutParams {
    pub(super) fn read(object: Object, log: &mut dyn Write) -> Result<Self, Failure> {
        let params: Self = read_with_warnings(Part::Params, object, log)?;
        if params.merge && params.rebase {
            let words = "and params.rebase exclude each other: leave one out";
            return Err(Failure::params("merge", words));
        }
        for (key, value) in [
            ("branch", &params.branch),
            ("refs_prefix", &params.refs_prefix),
            ("tag_prefix", &params.tag_prefix),
        ] {
            plain(Part::Params, key, value.as_deref().unwrap_or_default())?;
        }
        Ok(params)
    }
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Source>,
        read: |object| {
            let mut source = Source::read(object, &mut std::io::sink())?;
            Remote::parse(source.access().uri.as_deref()).map(drop)
        },
    },
    get: Form {
        keys: field_names::<InParams>,
        read: |object| InParams::read(object, &mut std::io::sink()).map(drop),
    },
    put: Form {
        keys: field_names::<OutParams>,
        read: |object| OutParams::read(object, &mut std::io::sink()).map(drop),
    },
};
