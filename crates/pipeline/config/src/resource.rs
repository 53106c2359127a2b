//! Resources: what jobs get and put.

use std::time::Duration;

use airside_model::Version;
use airside_yaml::Node;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::parse_duration;
use crate::reader::{Fields, Reader};
use crate::shape::{Field, Kind, Shape};

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
    /// Kept apart from an empty map, and written as null: `fly` tells the two apart when it
    /// compares.
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

/// The `check_every` of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckEvery {
    Never,
    Interval(Duration),
}

pub(crate) static SHAPE: Shape = Shape {
    name: "resource",
    doc: "A resource, of which jobs get and put versions.",
    fields: &[
        Field::required("name", Kind::Text, "Name of the resource."),
        Field::required(
            "type",
            Kind::Text,
            "A type of this installation or one of resource_types.",
        ),
        Field::new(
            "source",
            Kind::Object,
            "Location and credentials of the resource; the fields depend on its type.",
        ),
        Field::new(
            "old_name",
            Kind::Text,
            "Previous name of the resource, so that it keeps its versions.",
        ),
        Field::new("icon", Kind::Text, "Icon of the resource."),
        Field::new("version", Kind::TextMap, "Version to pin the resource to."),
        Field::new(
            "check_every",
            Kind::DurationOrNever,
            "Interval between checks, or never.",
        ),
        Field::new("check_timeout", Kind::Duration, "Timeout of a check."),
        Field::new(
            "expose_build_created_by",
            Kind::Flag,
            "Tell puts who created the build.",
        ),
        Field::new("tags", Kind::Texts, "Tags of the workers that check it."),
        Field::new(
            "public",
            Kind::Flag,
            "Show the metadata of versions to everyone who can see the pipeline.",
        ),
        Field::new(
            "webhook_token",
            Kind::Text,
            "Token with which a webhook requests a check.",
        ),
    ],
};

impl Resource {
    /// `None` if the resource leaves it to the installation.
    pub fn check_interval(&self) -> Option<CheckEvery> {
        CheckEvery::parse(&self.check_every)
    }
}

impl CheckEvery {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "never" => Some(Self::Never),
            text => parse_duration(text).map(Self::Interval),
        }
    }
}

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Resource> {
    reader.places.note(path, node.span);
    let path = named_path(reader, node, "resources", path);
    let mut fields = Fields::open(reader, node, &path, &SHAPE)?;
    let version = fields.string_map("version");
    let resource = Resource {
        name: fields.string("name"),
        old_name: fields.string("old_name"),
        public: fields.flag("public"),
        webhook_token: fields.string("webhook_token"),
        type_: fields.string("type"),
        source: fields.object("source"),
        check_every: fields.duration_now("check_every", &["never"]),
        check_timeout: fields.duration("check_timeout", &[]),
        tags: fields.strings("tags"),
        version: (!version.is_empty()).then_some(Version(version)),
        icon: fields.string("icon"),
        expose_build_created_by: fields.flag("expose_build_created_by"),
    };
    fields.close();
    Some(resource)
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
