//! `get`: the parts of a version as files, and the object while it still is of that version.

use std::{fs, io::Write, path::Path};

use airside_model::{MetadataField, Version};
use serde_json::Value;

use super::{
    access::ClusterAccess,
    api::ApiClient,
    check::{CheckQuery, ObjectReader},
    settings::{GetParams, ObjectChoice, Source},
    version::{is_same, part},
    yaml_text::yaml,
};
use crate::{Failure, InRequest, Produced, log::say, paths::inside};

/// Annotation in which `kubectl` keeps the whole object, and so a secret's data.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source)?;
    let params = GetParams::read(request.params)?;
    let version = request.version;
    let object = object(&source, &params, &version, log)?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    for (name, value) in &version.0 {
        write(dest, name, value)?;
    }
    if let Some(object) = &object {
        let json = serde_json::to_string_pretty(object).map_err(Failure::Request)?;
        write(dest, "object.json", &json)?;
        write(dest, "object.yml", &yaml(object))?;
    }
    for (name, path) in &params.outputs {
        let words = |why: &str| Failure::params("outputs", format!("has {name:?}: {why}"));
        let object = object
            .as_ref()
            .ok_or_else(|| words("the object has moved on"))?;
        let value = path.find(object);
        let value = value.ok_or_else(|| words(&format!("the object has no {path}")))?;
        write(dest, name, &part(value))?;
    }
    let metadata = version.0.iter().map(|(name, value)| MetadataField {
        name: name.clone(),
        value: value.clone(),
    });
    Ok(Produced {
        metadata: metadata.collect(),
        version,
    })
}

fn write(dest: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = inside(dest, name)?;
    if path.parent() != Some(dest) {
        return Err(Failure::said(format!(
            "a version has a part {name:?}, which cannot be the name of a file"
        )));
    }
    fs::write(&path, text).map_err(Failure::io(&path))
}

/// Returns the object if it still is of this version.
fn object(
    source: &Source,
    params: &GetParams,
    version: &Version,
    log: &mut dyn Write,
) -> Result<Option<Value>, Failure> {
    let name = match &source.choice {
        ObjectChoice::Named(name) => Some(name),
        ObjectChoice::Selected(_) | ObjectChoice::Any => version.0.get("object"),
    };
    let Some(name) = name else {
        say(
            log,
            "the version does not say which object it is of; only its parts are written",
        );
        return Ok(None);
    };
    let access = ClusterAccess::new(&source.credentials)?;
    let namespace = source.namespace.as_ref().or(access.namespace.as_ref());
    let mut reader = ObjectReader {
        namespace: namespace.map_or_else(|| "default".to_owned(), Clone::clone),
        client: ApiClient::new(&access)?,
        resource: source.kind.guess(true),
        is_discovered: false,
    };
    let found = reader.read(&CheckQuery::Object(name.clone()), log)?.pop();
    let Some(mut object) = found else {
        say(
            log,
            &format!(
                "{} is gone; only the version is written",
                reader.address(name)
            ),
        );
        return Ok(None);
    };
    let now = reader.version(source, &object, log)?;
    if !now.is_some_and(|now| is_same(&now, version)) {
        let words = format!(
            "{} has moved on; only the version is written",
            reader.address(name)
        );
        say(log, &words);
        return Ok(None);
    }
    tidy(&mut object, source, params);
    Ok(Some(object))
}

/// Takes out who manages which field, and the data of a secret unless it is asked for.
fn tidy(object: &mut Value, source: &Source, params: &GetParams) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let is_secret = source.kind.group.is_empty() && source.kind.kind == "Secret";
    if !is_secret || params.secrets {
        return;
    }
    if let Some(map) = object.as_object_mut() {
        map.remove("data");
        map.remove("stringData");
    }
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
}
