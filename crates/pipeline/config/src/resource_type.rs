//! Resource types and prototypes: images that a pipeline brings with it.

use airside_model::ResourceType;
use airside_yaml::Node;

use crate::reader::{Fields, Reader};
use crate::resource::named_path;
use crate::shape::{Field, Kind, Shape};

pub(crate) static SHAPE: Shape = Shape {
    name: "resource_type",
    doc: "A type whose image is itself a resource.",
    fields: &[
        Field::required("name", Kind::Text, "Name of the type."),
        Field::required("type", Kind::Text, "Resource type of the image."),
        Field::new(
            "source",
            Kind::Object,
            "Location and credentials of the image.",
        ),
        Field::new(
            "params",
            Kind::Object,
            "Params of the get that fetches the image.",
        ),
        Field::new(
            "defaults",
            Kind::Object,
            "Defaults for the source of resources of this type.",
        ),
        Field::new("privileged", Kind::Flag, "Run its containers privileged."),
        Field::new(
            "check_every",
            Kind::DurationOrNever,
            "Interval between checks for a new image, or never.",
        ),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers that check and fetch it.",
        ),
    ],
};

pub(crate) fn read(
    reader: &mut Reader,
    node: &Node,
    section: &str,
    path: &str,
) -> Option<ResourceType> {
    reader.places.note(path, node.span);
    let path = named_path(reader, node, section, path);
    let mut fields = Fields::open(reader, node, &path, &SHAPE)?;
    let resource_type = ResourceType {
        name: fields.string("name"),
        type_: fields.string("type"),
        source: fields.object("source"),
        defaults: fields.object("defaults").unwrap_or_default(),
        privileged: fields.flag("privileged"),
        check_every: fields.duration_now("check_every", &["never"]),
        tags: fields.strings("tags"),
        params: fields.object("params").unwrap_or_default(),
    };
    fields.close();
    Some(resource_type)
}
