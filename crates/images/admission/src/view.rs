//! The view of admission: which images sets keep, for pods of which namespace, and on how many
//! nodes each image is.
//!
//! A set speaks for pods of its own namespace. Sets of the installation's namespace speak for pods
//! of every namespace: only administrators write there. Otherwise one team's set could hold another
//! team's pods back.

use std::collections::BTreeMap;

use airside_image_rules::{
    ImageSet, ResolvedImage, label,
    placement::{KnownImage, KnownImages},
};
use airside_oci::Reference;

/// Number of nodes that have an image, by the image's label.
pub(crate) type Counts = BTreeMap<String, u32>;

#[derive(Clone, Debug, Default)]
pub struct View {
    /// Images for pods of namespaces that have no sets.
    shared: KnownImages,
    namespaces: BTreeMap<String, KnownImages>,
}

impl View {
    /// Makes a view of all sets; `home` is the namespace whose sets are for every namespace.
    pub(crate) fn new<'a>(
        sets: impl Iterator<Item = &'a ImageSet>,
        home: &str,
        counts: &Counts,
    ) -> Self {
        let mut by_namespace: BTreeMap<&str, Vec<&ImageSet>> = BTreeMap::new();
        for set in sets.filter(|set| set.metadata.deletion_timestamp.is_none()) {
            let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
            by_namespace.entry(namespace).or_default().push(set);
        }
        let shared = by_namespace.remove(home).unwrap_or_default();
        let shared = known(&shared, counts);
        let namespaces = by_namespace
            .into_iter()
            .map(|(namespace, own)| {
                let mut all = known(&own, counts);
                for (name, image) in &shared {
                    all.entry(name.clone()).or_insert_with(|| image.clone());
                }
                (namespace.to_owned(), all)
            })
            .collect();
        Self { shared, namespaces }
    }

    /// Returns the images for pods of a namespace.
    pub(crate) fn of(&self, namespace: &str) -> &KnownImages {
        self.namespaces.get(namespace).unwrap_or(&self.shared)
    }
}

/// Collects the images of sets. If several sets have one image, the set of the highest priority
/// counts, then the first by name.
fn known(sets: &[&ImageSet], counts: &Counts) -> KnownImages {
    let mut sorted = sets.to_vec();
    sorted.sort_by_key(|set| (-set.spec.priority, set.metadata.name.clone()));
    let mut known = KnownImages::new();
    for set in sorted {
        let images = set.status.iter().flat_map(|status| &status.images);
        for (name, image) in images.filter_map(|image| of_set(set, image, counts)) {
            // Pods may name the content as well.
            let content = name.at(&image.digest);
            known.entry(content).or_insert_with(|| image.clone());
            known.entry(name).or_insert(image);
        }
    }
    known
}

fn of_set(
    set: &ImageSet,
    image: &ResolvedImage,
    counts: &Counts,
) -> Option<(Reference, KnownImage)> {
    let name: Reference = image.image.parse().ok()?;
    let content: Reference = format!("{}@{}", name.repository(), image.digest)
        .parse()
        .ok()?;
    let label = label::key(&content);
    let sizes = image.platforms.values().map(|image| image.size_bytes);
    let known = KnownImage {
        nodes: counts.get(&label).copied().unwrap_or_default(),
        label,
        digest: content.digest()?.clone(),
        size: sizes.max().unwrap_or_default(),
        placement: set.spec.placement.clone(),
    };
    Some((name, known))
}

#[cfg(test)]
mod tests;
