//! Resource types that a pipeline brings with it. Prototypes have the same fields.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceType {
    pub name: String,
    /// The type of the resource that the image is.
    #[serde(rename = "type")]
    pub type_: String,
    /// Kept apart from an empty map, and written as null: `fly` tells the two apart when it
    /// compares.
    #[serde(default)]
    pub source: Option<Map<String, Value>>,
    /// Defaults for the sources of resources of this type; the resource's own values win.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub defaults: Map<String, Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check_every: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Params of the get that fetches the image.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
}
