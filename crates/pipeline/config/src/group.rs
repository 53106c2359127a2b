//! Groups: tabs over the jobs of a pipeline.

use airside_yaml::Node;
use serde::{Deserialize, Serialize};

use crate::reader::{Fields, Reader};
use crate::shape::{Field, Kind, Shape};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    /// Names or patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "group",
    doc: "A tab of the pipeline's page.",
    fields: &[
        Field::required("name", Kind::Text, "Name of the group."),
        Field::new(
            "jobs",
            Kind::Texts,
            "Names or patterns of the group's jobs.",
        ),
        Field::new("resources", Kind::Texts, "Names of the group's resources."),
    ],
};

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Group> {
    reader.places.note(path, node.span);
    let mut fields = Fields::open(reader, node, path, &SHAPE)?;
    let group = Group {
        name: fields.string("name"),
        jobs: fields.strings("jobs"),
        resources: fields.strings("resources"),
    };
    fields.close();
    Some(group)
}
