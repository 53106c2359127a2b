//! Task configurations, in a step's `config:` or a file of their own.

use std::time::Duration;

use airside_model::task::{
    ContainerLimits, ImageResource, TaskCache, TaskInput, TaskOutput, TaskRun,
};
use airside_model::{TaskConfig, Version};
use airside_yaml::{Node, Value};

use crate::parse_duration;
use crate::reader::{Fields, Reader};
use crate::task_shape as shape;

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<TaskConfig> {
    let mut fields = Fields::open(reader, node, path, &shape::TASK)?;
    let config = TaskConfig {
        platform: fields.string("platform"),
        image_resource: read_image_resource(&mut fields),
        rootfs_uri: fields.string("rootfs_uri"),
        container_limits: read_limits(&mut fields),
        params: fields.env("params"),
        run: read_run(&mut fields),
        inputs: fields.list("inputs", read_input),
        outputs: fields.list("outputs", read_output),
        caches: fields.list("caches", read_cache),
    };
    if fields.lacks("platform") {
        fields.reader.problem(path, node.span, "missing 'platform'");
    }
    check_names(&mut fields, &config);
    fields.close();
    Some(config)
}

fn check_names(fields: &mut Fields<'_, '_>, config: &TaskConfig) {
    let inputs = config.inputs.iter().map(|input| &input.name).enumerate();
    let outputs = config.outputs.iter().map(|output| &output.name).enumerate();
    let inputs = inputs.map(|(index, name)| ("input", index, name));
    for (what, index, name) in inputs.chain(outputs.map(|(index, name)| ("output", index, name))) {
        if !name.is_empty() {
            continue;
        }
        let place = fields.path_of(&format!("{what}s[{index}]"));
        let span = fields.reader.places.find(&place).unwrap_or(fields.span);
        let message = format!("{what} in position {index} is missing a name");
        fields.reader.problem(&fields.path, span, message);
    }
}

fn read_image_resource(config: &mut Fields<'_, '_>) -> Option<ImageResource> {
    let node = config.take("image_resource")?;
    let path = config.path_of("image_resource");
    let mut fields = Fields::open(config.reader, node, &path, &shape::IMAGE_RESOURCE)?;
    let version = fields.string_map("version");
    let image = ImageResource {
        name: fields.string("name"),
        type_: fields.string("type"),
        source: fields.object("source"),
        params: fields.object("params").filter(|params| !params.is_empty()),
        version: (!version.is_empty()).then_some(Version(version)),
        tags: fields.strings("tags"),
    };
    if fields.lacks("type") {
        let message = format!("{path}: has no `type`, so a build that needs the image will fail");
        fields.reader.warning("pipeline", node.span, message);
    }
    fields.close_loosely();
    Some(image)
}

/// Reads the task's command. Without a path the image says what to run.
fn read_run(config: &mut Fields<'_, '_>) -> TaskRun {
    let Some(node) = config.take("run") else {
        return TaskRun::default();
    };
    let path = config.path_of("run");
    let Some(mut fields) = Fields::open(config.reader, node, &path, &shape::RUN) else {
        return TaskRun::default();
    };
    let run = TaskRun {
        path: fields.string("path"),
        args: fields.strings("args"),
        dir: fields.string("dir"),
        user: fields.string("user"),
    };
    fields.close_loosely();
    run
}

fn read_input(reader: &mut Reader, node: &Node, path: &str) -> Option<TaskInput> {
    reader.places.note(path, node.span);
    let mut fields = Fields::open(reader, node, path, &shape::INPUT)?;
    let input = TaskInput {
        name: fields.string("name"),
        path: fields.string("path"),
        optional: fields.flag("optional"),
    };
    fields.close_loosely();
    Some(input)
}

fn read_output(reader: &mut Reader, node: &Node, path: &str) -> Option<TaskOutput> {
    reader.places.note(path, node.span);
    let mut fields = Fields::open(reader, node, path, &shape::OUTPUT)?;
    let output = TaskOutput {
        name: fields.string("name"),
        path: fields.string("path"),
    };
    fields.close_loosely();
    Some(output)
}

fn read_cache(reader: &mut Reader, node: &Node, path: &str) -> Option<TaskCache> {
    let mut fields = Fields::open(reader, node, path, &shape::CACHE)?;
    let cache = TaskCache {
        path: fields.string("path"),
        ttl: fields.duration("ttl", &[]),
    };
    let too_short = parse_duration(&cache.ttl).is_some_and(|ttl| ttl < Duration::from_secs(1));
    if too_short {
        fields.complain(
            "ttl",
            format!("must be at least 1s, but is '{}'", cache.ttl),
        );
    }
    fields.close_loosely();
    Some(cache)
}

/// `container_limits` of a task step or a task config.
pub(crate) fn read_limits(owner: &mut Fields<'_, '_>) -> Option<ContainerLimits> {
    let node = owner.take("container_limits")?;
    let path = owner.path_of("container_limits");
    let mut fields = Fields::open(owner.reader, node, &path, &shape::LIMITS)?;
    let cpu = read_limit(&mut fields, "cpu", "a whole number of CPU shares", |_| None);
    let memory = read_limit(
        &mut fields,
        "memory",
        "a size such as 512MB or 1GB",
        parse_memory,
    );
    fields.close_loosely();
    Some(ContainerLimits { cpu, memory })
}

fn read_limit(
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    wanted: &str,
    parse: fn(&str) -> Option<u64>,
) -> Option<u64> {
    let node = fields.take(name)?;
    let path = fields.path_of(name);
    let limit = match &node.value {
        Value::Int(value) => u64::try_from(*value).ok(),
        Value::UInt(value) => Some(*value),
        Value::Float(value) if *value >= 0.0 && *value < 1e18 => Some(*value as u64),
        Value::String(text) => parse(text),
        _ => None,
    };
    if limit.is_none() {
        fields
            .reader
            .problem(&path, node.span, format!("must be {wanted}"));
    }
    limit
}

/// `1GB`, `1gib`, `1g`: all units are powers of 1024.
fn parse_memory(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kb" | "ki" | "kib" => 1 << 10,
        "m" | "mb" | "mi" | "mib" => 1 << 20,
        "g" | "gb" | "gi" | "gib" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_units_are_binary() {
        for (text, bytes) in [
            ("7", 7),
            ("1k", 1024),
            ("1KB", 1024),
            ("2MiB", 2 << 20),
            ("1g", 1 << 30),
        ] {
            assert_eq!(parse_memory(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "GB",
            "1TB",
            "1.5GB",
            "-1",
            "1 GB",
            "99999999999999999999G",
        ] {
            assert_eq!(parse_memory(text), None, "{text}");
        }
    }
}
