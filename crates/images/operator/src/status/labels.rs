//! Labels of nodes that have an image, for the set's status. Admission computes them itself;
//! policies cannot hash, and neither can people who write a node selector.

use std::collections::BTreeMap;

use airside_image_rules::{ResolvedImage, label};
use airside_oci::{Digest, Reference};

/// Returns labels by the images' names, and by their contents. An image that is not resolved has
/// none.
pub(super) fn labels(images: &[ResolvedImage]) -> BTreeMap<String, String> {
    let resolved = images.iter().filter_map(|image| {
        let name: Reference = image.image.parse().ok()?;
        let content = name.at(&Digest::parse(&image.digest).ok()?);
        Some((name, content))
    });
    let mut found = BTreeMap::new();
    for (name, content) in resolved {
        let label = label::key(&content);
        found.insert(content.to_string(), label.clone());
        found.insert(name.to_string(), label);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_known_has_a_label_by_name_and_by_content() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let images = serde_json::from_value::<Vec<ResolvedImage>>(json!([
            {"image": "docker.io/library/app:1", "digest": digest, "state": "found"},
            {"image": "docker.io/library/app:2", "digest": digest, "state": "error"},
            {"image": "r.example/new:1", "state": "pending"},
            {"image": "not a name", "digest": digest, "state": "error"},
        ]));
        let label = label::key(&format!("app@{digest}").parse().unwrap());
        let expected = [
            ("docker.io/library/app:1".to_owned(), label.clone()),
            ("docker.io/library/app:2".to_owned(), label.clone()),
            (format!("docker.io/library/app@{digest}"), label),
        ];
        assert_eq!(labels(&images.unwrap()), BTreeMap::from(expected));
    }
}
