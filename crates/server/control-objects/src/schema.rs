//! Schemas of fields that hold what no schema of a definition can say.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A map of any values. It has one owner: two people's values are never merged.
pub(crate) fn opaque_map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-map-type": "atomic",
    })
}
