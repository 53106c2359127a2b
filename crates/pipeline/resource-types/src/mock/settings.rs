//! Settings of `mock` in `source`, `params` and versions.

use std::collections::BTreeMap;

use airside_model::{MetadataField, Version};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    failure::{Failure, Part},
    inspect::{Form, Forms, field_names},
    request::read,
};

/// File names and their contents: text as it is, anything else as JSON.
pub(super) type Files = BTreeMap<String, Value>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Source {
    pub(super) mirror_self: bool,
    pub(super) initial_version: Option<String>,
    pub(super) no_initial_version: bool,
    pub(super) force_version: Option<String>,
    pub(super) create_files: Files,
    pub(super) check_delay: Option<String>,
    pub(super) check_failure: Option<String>,
    pub(super) metadata: Vec<MetadataField>,
    pub(super) log: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InParams {
    pub(super) mirror_self_via_params: bool,
    pub(super) create_files_via_params: Files,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OutParams {
    pub(super) version: Option<String>,
    pub(super) file: Option<String>,
    pub(super) print_env: bool,
}

const VERSION: &str = "version";
const PRIVILEGED: &str = "privileged";

/// A version of ours from its text.
pub(super) fn version(text: &str, privileged: bool) -> Version {
    let mut version = Version::from([(VERSION, text)]);
    if privileged {
        version.0.insert(PRIVILEGED.to_owned(), "true".to_owned());
    }
    version
}

/// The text of a version of ours.
pub(super) fn version_text(version: &Version) -> Result<&str, Failure> {
    if let Some(key) = version
        .0
        .keys()
        .find(|key| *key != VERSION && *key != PRIVILEGED)
    {
        return Err(Failure::said(format!(
            "{} is not valid: unknown field `{key}`, expected `{VERSION}`",
            Part::Version
        )));
    }
    match version.0.get(VERSION) {
        Some(text) => Ok(text),
        None => Err(Failure::said(format!(
            "{} is not valid: missing field `{VERSION}`",
            Part::Version
        ))),
    }
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Source>,
        read: |object| read::<Source>(Part::Source, object).map(drop),
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
