//! Labels and annotations that a rule adds.

use serde_json::Value;

use super::{super::file::Fault, only};
use crate::{
    labels,
    targets::located::{Key, Located, Node},
};

pub(super) fn check(metadata: &Located) -> Result<(), Fault> {
    only(metadata, "metadata", &["labels", "annotations"])?;
    for (kind, texts) in metadata.entries().unwrap_or_default() {
        let path = format!("metadata.{}", kind.name);
        let Some(entries) = texts.entries() else {
            let message = format!("pod_rules: {path}: must be a map of texts");
            return Err(Fault::at(texts.at, message));
        };
        for (key, value) in entries {
            check_key(key, &path)?;
            check_value(value, &path, &key.name, kind.name == "labels")?;
        }
    }
    Ok(())
}

fn check_key(key: &Key, path: &str) -> Result<(), Fault> {
    let (domain, name) = match key.name.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key.name.as_str()),
    };
    if domain == Some(labels::DOMAIN) {
        let message = format!(
            "pod_rules: {path}: {:?} is Airside's own: by these it finds its pods",
            key.name
        );
        return Err(Fault::at(key.at, message));
    }
    let plain = |domain: &str| {
        let part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
        !domain.is_empty() && domain.len() <= 253 && domain.bytes().all(part)
    };
    if labels::is_value(name) && domain.is_none_or(plain) {
        return Ok(());
    }
    let message = format!(
        "pod_rules: {path}: {:?} is not a key such as `name` or `example.com/name`",
        key.name
    );
    Err(Fault::at(key.at, message))
}

fn check_value(value: &Located, path: &str, key: &str, label: bool) -> Result<(), Fault> {
    let Some(text) = value.text() else {
        let seen = match &value.node {
            Node::Scalar(Value::Null) => "nothing".to_owned(),
            _ => value.value().to_string(),
        };
        let message =
            format!("pod_rules: {path}.{key}: must be a text, not {seen}; put it in quotes");
        return Err(Fault::at(value.at, message));
    };
    if label && !text.is_empty() && !labels::is_value(text) {
        let message = format!(
            "pod_rules: {path}.{key}: {text:?} cannot be a label: use up to 63 letters, digits, \
             '-', '_' and '.'"
        );
        return Err(Fault::at(value.at, message));
    }
    Ok(())
}
