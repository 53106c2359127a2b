//! The fields of task configurations.

use crate::shape::{Field, Kind, Shape};

pub(crate) static TASK: Shape = Shape {
    name: "task_config",
    doc: "A program to run, and what it needs.",
    fields: &[
        Field::required("platform", Kind::Text, "Platform of the worker: linux."),
        Field::new(
            "image_resource",
            Kind::Inner(&IMAGE_RESOURCE),
            "Resource with the image of the task.",
        ),
        Field::new(
            "rootfs_uri",
            Kind::Text,
            "URI of the root file system, instead of an image.",
        ),
        Field::new(
            "container_limits",
            Kind::Inner(&LIMITS),
            "Limits of CPU and memory.",
        ),
        Field::new(
            "params",
            Kind::Env,
            "Environment variables with their default values.",
        ),
        Field::new(
            "run",
            Kind::Inner(&RUN),
            "Program to run; without one, the image's.",
        ),
        Field::new(
            "inputs",
            Kind::List(&INPUT),
            "Artifacts that the task needs.",
        ),
        Field::new(
            "outputs",
            Kind::List(&OUTPUT),
            "Folders that become artifacts.",
        ),
        Field::new(
            "caches",
            Kind::List(&CACHE),
            "Folders that are kept for later builds.",
        ),
    ],
};

pub(crate) static IMAGE_RESOURCE: Shape = Shape {
    name: "image_resource",
    doc: "The resource with a task's image.",
    fields: &[
        Field::required(
            "type",
            Kind::Text,
            "A type of resource, such as registry-image.",
        ),
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
            "version",
            Kind::TextMap,
            "Version to use instead of the latest.",
        ),
        Field::new("name", Kind::Text, "Name of the image in logs."),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers that fetch the image.",
        ),
    ],
};

pub(crate) static RUN: Shape = Shape {
    name: "run_config",
    doc: "A program and how to start it.",
    fields: &[
        Field::new("path", Kind::Text, "Program: a name in PATH, or a path."),
        Field::new("args", Kind::Texts, "Arguments of the program."),
        Field::new(
            "dir",
            Kind::Text,
            "Working folder, relative to the task's folder.",
        ),
        Field::new(
            "user",
            Kind::Text,
            "User to run as, instead of the image's.",
        ),
    ],
};

pub(crate) static INPUT: Shape = Shape {
    name: "task_input",
    doc: "An artifact that a task needs.",
    fields: &[
        Field::required("name", Kind::Text, "Name of the artifact."),
        Field::new(
            "path",
            Kind::Text,
            "Path of the folder, if it differs from the name.",
        ),
        Field::new(
            "optional",
            Kind::Flag,
            "Run the task even if the input is missing.",
        ),
    ],
};

pub(crate) static OUTPUT: Shape = Shape {
    name: "task_output",
    doc: "A folder that becomes an artifact.",
    fields: &[
        Field::required("name", Kind::Text, "Name of the artifact."),
        Field::new(
            "path",
            Kind::Text,
            "Path of the folder, if it differs from the name.",
        ),
    ],
};

pub(crate) static CACHE: Shape = Shape {
    name: "task_cache",
    doc: "A folder that later builds of the same step find again.",
    fields: &[
        Field::required("path", Kind::Text, "Path of the folder."),
        Field::new(
            "ttl",
            Kind::Duration,
            "Time for which an unused cache is kept.",
        ),
    ],
};

pub(crate) static LIMITS: Shape = Shape {
    name: "container_limits",
    doc: "Limits of a container.",
    fields: &[
        Field::new("cpu", Kind::Count, "CPU shares: 1024 is one core's worth."),
        Field::new(
            "memory",
            Kind::Memory,
            "Memory in bytes, or a size such as 512MB.",
        ),
    ],
};
