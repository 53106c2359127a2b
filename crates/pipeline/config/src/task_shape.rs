//! The fields of task configurations.

use crate::shape::{Field, Kind, Shape};

pub(crate) static TASK: Shape = Shape {
    name: "task_config",
    doc: "A program to run, and what it needs.",
    fields: &[
        Field::required("platform", Kind::Text, "The kind of worker: linux."),
        Field::new(
            "image_resource",
            Kind::Inner(&IMAGE_RESOURCE),
            "Where the image comes from.",
        ),
        Field::new(
            "rootfs_uri",
            Kind::Text,
            "Where the root file system is, instead of an image.",
        ),
        Field::new(
            "container_limits",
            Kind::Inner(&LIMITS),
            "How much it may use.",
        ),
        Field::new(
            "params",
            Kind::Env,
            "Environment variables, and their values if steps give none.",
        ),
        Field::new(
            "run",
            Kind::Inner(&RUN),
            "The program; without one, what the image says.",
        ),
        Field::new("inputs", Kind::List(&INPUT), "Artifacts that it needs."),
        Field::new(
            "outputs",
            Kind::List(&OUTPUT),
            "Folders that become artifacts.",
        ),
        Field::new(
            "caches",
            Kind::List(&CACHE),
            "Folders that later builds find again.",
        ),
    ],
};

pub(crate) static IMAGE_RESOURCE: Shape = Shape {
    name: "image_resource",
    doc: "The resource that is a task's image.",
    fields: &[
        Field::required(
            "type",
            Kind::Text,
            "A type of resource, such as registry-image.",
        ),
        Field::new("source", Kind::Object, "Where the image is."),
        Field::new("params", Kind::Object, "For getting it."),
        Field::new(
            "version",
            Kind::TextMap,
            "The version to use instead of the latest.",
        ),
        Field::new("name", Kind::Text, "What to call it in logs."),
        Field::new(
            "tags",
            Kind::Texts,
            "Only workers with these tags fetch it.",
        ),
    ],
};

pub(crate) static RUN: Shape = Shape {
    name: "run_config",
    doc: "A program and how to start it.",
    fields: &[
        Field::new(
            "path",
            Kind::Text,
            "The program: a name to look up or a path.",
        ),
        Field::new("args", Kind::Texts, "Its arguments."),
        Field::new(
            "dir",
            Kind::Text,
            "Where it starts, relative to the task's folder.",
        ),
        Field::new(
            "user",
            Kind::Text,
            "Who runs it, instead of whom the image says.",
        ),
    ],
};

pub(crate) static INPUT: Shape = Shape {
    name: "task_input",
    doc: "An artifact that a task needs.",
    fields: &[
        Field::required("name", Kind::Text, "The artifact."),
        Field::new(
            "path",
            Kind::Text,
            "Its folder, if it is not called like the artifact.",
        ),
        Field::new(
            "optional",
            Kind::Flag,
            "Whether the task runs without it too.",
        ),
    ],
};

pub(crate) static OUTPUT: Shape = Shape {
    name: "task_output",
    doc: "A folder that becomes an artifact.",
    fields: &[
        Field::required("name", Kind::Text, "The artifact."),
        Field::new(
            "path",
            Kind::Text,
            "Its folder, if it is not called like the artifact.",
        ),
    ],
};

pub(crate) static CACHE: Shape = Shape {
    name: "task_cache",
    doc: "A folder that later builds of the same step find again.",
    fields: &[
        Field::required("path", Kind::Text, "The folder."),
        Field::new(
            "ttl",
            Kind::Duration,
            "How long it is kept without being used.",
        ),
    ],
};

pub(crate) static LIMITS: Shape = Shape {
    name: "container_limits",
    doc: "How much a container may use.",
    fields: &[
        Field::new("cpu", Kind::Count, "CPU shares: 1024 is one core's worth."),
        Field::new("memory", Kind::Memory, "Bytes, or a size such as 512MB."),
    ],
};
