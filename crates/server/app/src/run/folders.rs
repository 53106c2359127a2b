//! Folders given as what a resource holds, and whether every other resource can be had at all.

use std::path::PathBuf;

use airside_config::{
    Config, Job, Leaf, ResourceType, inputs, missing_base_type, nearest, outputs,
};
use serde_json::{Map, Value, json};

use super::order::Order;

/// `RESOURCE=DIR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) resource: String,
    pub(crate) path: PathBuf,
}

/// Reads the option.
pub(crate) fn parse(text: &str) -> Result<Folder, String> {
    let (resource, path) = text
        .split_once('=')
        .filter(|(resource, path)| !resource.is_empty() && !path.is_empty())
        .ok_or("a folder for a resource is written RESOURCE=DIR")?;
    Ok(Folder {
        resource: resource.to_owned(),
        path: PathBuf::from(path),
    })
}

/// Everything that keeps the chosen jobs from having their resources.
pub(crate) fn problems(config: &Config, order: &Order, folders: &[Folder]) -> Vec<String> {
    let mut problems: Vec<String> = folders
        .iter()
        .filter_map(|folder| wrong(config, folder))
        .collect();
    for job in config.jobs.iter().filter(|job| order.has(&job.name)) {
        problems.extend(missing_types(config, job, folders));
    }
    problems.dedup();
    problems
}

/// Names what a job gets, puts and takes its images from by a type that is not there, each with the
/// line that brings the type.
fn missing_types(config: &Config, job: &Job, folders: &[Folder]) -> Vec<String> {
    let (job_name, mut problems) = (&job.name, Vec::new());
    let type_of = |resource: &str| Some(config.resource(resource)?.type_.as_str());
    for input in inputs(job) {
        let resource = &input.resource;
        let is_given = folders.iter().any(|folder| folder.resource == *resource);
        let missing = type_of(resource).and_then(|type_| missing_type(config, type_, Use::Get));
        if let Some(type_) = missing.filter(|_| !is_given) {
            problems.push(format!(
                "job `{job_name}` gets `{resource}`: {}; or give a folder as its content with --input {resource}=DIR",
                missing_base_type(type_)
            ));
        }
    }
    for output in outputs(job) {
        let resource = &output.resource;
        let missing = type_of(resource).and_then(|type_| missing_type(config, type_, Use::Put));
        if let Some(type_) = missing {
            problems.push(format!(
                "job `{job_name}` puts `{resource}`: {}; or leave out all puts with --no-put",
                missing_base_type(type_)
            ));
        }
    }
    job.visit_leaves(&mut |leaf| {
        if let Leaf::Task(task) = leaf
            && task.image.is_empty()
            && let Some(image) = task
                .config
                .as_ref()
                .and_then(|it| it.image_resource.as_ref())
            && let Some(type_) = missing_type(config, &image.type_, Use::Image)
        {
            problems.push(format!(
                "the image of task `{}` in job `{job_name}`: {}",
                task.name,
                missing_base_type(type_)
            ));
        }
    });
    problems
}

fn wrong(config: &Config, folder: &Folder) -> Option<String> {
    let Folder { resource, path } = folder;
    if config.resource(resource).is_none() {
        let known = config
            .resources
            .iter()
            .map(|resource| resource.name.as_str());
        let meant = nearest(resource, known)
            .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        return Some(format!(
            "--input: the pipeline has no resource `{resource}`{meant}"
        ));
    }
    let shown = path.display();
    match path.metadata() {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some(format!("--input {resource}: {shown} is not a folder")),
        Err(error) => Some(format!(
            "--input {resource}: cannot use {shown}: {}",
            airside_model::chain(&error)
        )),
    }
}

/// The use that a job makes of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Get,
    Put,
    Image,
}

/// The images that a task may name without a resource type of that name.
const IMAGES: [&str; 2] = ["host", "oci-layout"];

/// Returns the type that is missing for this use: the type itself, or one that its image is fetched
/// by.
fn missing_type<'a>(config: &'a Config, type_: &'a str, use_: Use) -> Option<&'a str> {
    let made = resource_types(config, type_);
    let (base, use_) = match made.last() {
        Some(last) => (last.type_.as_str(), Use::Get),
        None => (type_, use_),
    };
    let is_there = airside_resource_types::is_native(base)
        || (use_ != Use::Put && airside_config::registry_type(base).is_some())
        || (use_ == Use::Image && IMAGES.contains(&base))
        // Whatever the variable comes to.
        || base.contains("((")
        // Types that go round in a circle come to nothing else.
        || made.iter().any(|made| made.name == base && made.type_ != base);
    (!is_there).then_some(base)
}

/// Returns the type of this name that the pipeline makes, and those that its image is fetched by.
pub(crate) fn resource_types<'a>(config: &'a Config, name: &str) -> Vec<&'a ResourceType> {
    let mut types: Vec<&ResourceType> = Vec::new();
    let mut next = config.resource_type(name);
    while let Some(type_) = next
        && types.iter().all(|known| known.name != type_.name)
    {
        types.push(type_);
        next = config.resource_type(&type_.type_);
    }
    types
}

/// Makes the gets of some resources take an upload instead. `plan` is a plan's JSON; the get behind
/// a put stays, as it fetches what was just put.
pub(crate) fn replace_gets(plan: &mut Value, artifact: &dyn Fn(&str) -> Option<i64>) {
    match plan {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace_gets(item, artifact)),
        Value::Object(node) => {
            if let Some(input) = node.get("get").and_then(|get| as_input(get, artifact)) {
                node.remove("get");
                node.insert("artifact_input".to_owned(), input);
                return;
            }
            for (key, inner) in node {
                match inner {
                    Value::String(template) if key == "substep_template" => {
                        replace_in_template(template, artifact);
                    }
                    inner => replace_gets(inner, artifact),
                }
            }
        }
        _ => {}
    }
}

/// Substeps of `across` are kept as the text of their plan.
fn replace_in_template(template: &mut String, artifact: &dyn Fn(&str) -> Option<i64>) {
    if let Ok(mut inner) = serde_json::from_str::<Value>(template) {
        replace_gets(&mut inner, artifact);
        *template = inner.to_string();
    }
}

fn as_input(get: &Value, artifact: &dyn Fn(&str) -> Option<i64>) -> Option<Value> {
    let get: &Map<String, Value> = get.as_object()?;
    if get.contains_key("version_from") || !get.contains_key("type") {
        return None;
    }
    let id = artifact(get.get("resource")?.as_str()?)?;
    Some(json!({"artifact_id": id, "name": get.get("name")?}))
}

#[cfg(test)]
mod tests;
