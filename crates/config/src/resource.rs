//! Resources: what jobs get and put.

use std::time::Duration;

use airside_model::Version;
use airside_yaml::Node;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::parse_duration;
use crate::reader::{Fields, Reader};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub old_name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub webhook_token: String,
    #[serde(rename = "type")]
    pub type_: String,
    /// Kept apart from an empty map, and written as null: `fly` tells the two apart when it compares.
    #[serde(default)]
    pub source: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check_every: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check_timeout: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The version that this resource is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub icon: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expose_build_created_by: bool,
}

/// How often a resource wants to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckEvery {
    Never,
    Interval(Duration),
}

impl Resource {
    /// `None` if the resource leaves it to the installation.
    pub fn check_interval(&self) -> Option<CheckEvery> {
        match self.check_every.as_str() {
            "never" => Some(CheckEvery::Never),
            text => parse_duration(text).map(CheckEvery::Interval),
        }
    }
}

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Resource> {
    reader.places.note(path, node.span);
    let path = named_path(reader, node, "resources", path);
    let mut fields = Fields::open(reader, node, &path)?;
    let version = fields.string_map("version");
    let resource = Resource {
        name: fields.string("name"),
        old_name: fields.string("old_name"),
        public: fields.flag("public"),
        webhook_token: fields.string("webhook_token"),
        type_: fields.string("type"),
        source: fields.object("source"),
        check_every: fields.string("check_every"),
        check_timeout: fields.string("check_timeout"),
        tags: fields.strings("tags"),
        version: (!version.is_empty()).then_some(Version(version)),
        icon: fields.string("icon"),
        expose_build_created_by: fields.flag("expose_build_created_by"),
    };
    check_durations(&mut fields, &resource);
    fields.close();
    Some(resource)
}

fn check_durations(fields: &mut Fields<'_, '_>, resource: &Resource) {
    let every_is_wrong = !resource.check_every.is_empty() && resource.check_interval().is_none();
    let timeout_is_wrong =
        !resource.check_timeout.is_empty() && parse_duration(&resource.check_timeout).is_none();
    for (name, wrong, text) in [
        ("check_every", every_is_wrong, &resource.check_every),
        ("check_timeout", timeout_is_wrong, &resource.check_timeout),
    ] {
        if wrong && crate::vars::first(text).is_none() {
            let path = fields.path_of(name);
            let span = fields.reader.places.find(&path).unwrap_or(fields.span);
            fields
                .reader
                .problem(&path, span, format!("invalid duration '{text}'"));
        }
    }
}

/// `resources.repo` for one that has a name, else the path with its index. Notes where it stands.
pub(crate) fn named_path(reader: &mut Reader, node: &Node, section: &str, indexed: &str) -> String {
    let name = node
        .get("name")
        .and_then(|name| Some((name.value.scalar_text()?, name.span)));
    match name {
        Some((name, span)) if !name.is_empty() => {
            let path = format!("{section}.{name}");
            reader.places.note(path.clone(), span);
            path
        }
        _ => indexed.to_owned(),
    }
}
