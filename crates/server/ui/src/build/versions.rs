//! Versions and metadata on one line.

use airside_build_picture::PictureNode;
use airside_model::{MetadataField, Version};

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("errored").chars().take(200).collect()
}

/// Returns the words of a version's metadata that tell people most.
pub(super) fn summary(metadata: &[MetadataField]) -> Option<String> {
    let find = |name: &str| {
        let field = metadata.iter().find(|field| field.name == name)?;
        let line = first_line(&field.value);
        (!field.value.is_empty()).then_some(line)
    };
    match (find("message"), find("author")) {
        (Some(message), Some(author)) => Some(format!("{message}, {author}")),
        (message, author) => message.or(author),
    }
}

/// Returns what a version shows on a line: each pair short, and whole.
pub(super) fn version_chips(node: &PictureNode) -> Vec<(String, String)> {
    let version = node.facts.version.as_ref().or(node.planned.as_ref());
    version.map(version_pairs).unwrap_or_default()
}

/// Returns the pairs of a version, each short and whole.
fn version_pairs(version: &Version) -> Vec<(String, String)> {
    let pairs = version.0.iter();
    let shown = pairs.map(|(key, value)| {
        (
            format!("{key} {}", short_version(value)),
            format!("{key}: {value}"),
        )
    });
    shown.take(4).collect()
}

/// Returns a commit or a digest as people shorten it.
pub fn short_version(value: &str) -> String {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if value.len() == 40 && is_hex(value) {
        return value[..7].to_owned();
    }
    match value.strip_prefix("sha256:") {
        Some(digest) if digest.len() == 64 && is_hex(digest) => {
            format!("sha256:{}…{}", &digest[..4], &digest[60..])
        }
        _ => value.to_owned(),
    }
}
