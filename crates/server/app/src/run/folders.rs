//! Folders given as what a resource holds, and whether every other resource can be had at all.

use std::path::PathBuf;

use airside_config::{Config, inputs, nearest, outputs};
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
    let chosen = config.jobs.iter().filter(|job| order.has(&job.name));
    for job in chosen {
        for input in inputs(job) {
            let given = |folder: &Folder| folder.resource == input.resource;
            if !folders.iter().any(given)
                && let Some(type_) = missing_type(config, &input.resource)
            {
                problems.push(format!(
                    "job `{}` gets `{1}`, whose type `{type_}` this version of Airside does not have; \
                     give a folder as its content with --input {1}=DIR",
                    job.name, input.resource
                ));
            }
        }
        for output in outputs(job) {
            if let Some(type_) = missing_type(config, &output.resource) {
                problems.push(format!(
                    "job `{}` puts `{}`, whose type `{type_}` this version of Airside does not have; \
                     choose other jobs with --job",
                    job.name, output.resource
                ));
            }
        }
    }
    problems.dedup();
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
        Ok(_) => Some(format!("--input {resource}: {shown} is no folder")),
        Err(error) => Some(format!(
            "--input {resource}: cannot use {shown}: {}",
            airside_model::chain(&error)
        )),
    }
}

/// Returns the type of a resource if neither the pipeline nor Airside brings it.
fn missing_type<'a>(config: &'a Config, resource: &str) -> Option<&'a str> {
    let type_ = config.resource(resource)?.type_.as_str();
    let known = config.resource_type(type_).is_some()
        || airside_resource_types::is_native(type_)
        || airside_config::registry_type(type_).is_some()
        // Whatever the variable comes to.
        || type_.contains("((");
    (!known).then_some(type_)
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
