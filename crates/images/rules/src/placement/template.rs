//! Placement of templates, from which a Deployment and the like make pods.
//!
//! A template outlives what a tag means, so nothing in it may stop a pod from starting once the tag
//! has moved: it prefers nodes, and requires them only for a digest that is in the template as
//! well. Gates are put on pods alone.

use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec, PreferredSchedulingTerm};

use super::{KnownImages, in_use, prefer, require, total};
use airside_oci::Reference;

use crate::{PlacementMode, label};

/// Changes the template, and returns true if there was anything to change. Terms about images that
/// it no longer uses, and about earlier digests of a name, are removed.
pub fn place_template(template: &mut PodTemplateSpec, known: &KnownImages) -> bool {
    let before = template.clone();
    let Some(spec) = template.spec.as_mut() else {
        return false;
    };
    if spec.node_name.is_some() {
        return false;
    }
    let used = in_use(spec, known);
    let wanted: Vec<&str> = used.values().map(|image| image.label.as_str()).collect();
    forget(spec, &wanted);
    let total = total(&used);
    for (name, image) in &used {
        let stays = image.placement.pin_digest || Reference::digest(name).is_some();
        match image.placement.mode {
            PlacementMode::Require if stays => require(spec, image),
            PlacementMode::Require | PlacementMode::Prefer | PlacementMode::Gate => {
                prefer(spec, image, total);
            }
            PlacementMode::None => {}
        }
    }
    *template != before
}

/// Takes away what is about other images, and what is empty then.
fn forget(spec: &mut PodSpec, wanted: &[&str]) {
    let is_old = |key: &str| label::is_ours(key) && !wanted.contains(&key);
    if let Some(selector) = spec.node_selector.as_mut() {
        let had = selector.len();
        selector.retain(|key, _| !is_old(key));
        if selector.len() < had && selector.is_empty() {
            spec.node_selector = None;
        }
    }
    let Some(affinity) = spec.affinity.as_mut() else {
        return;
    };
    let Some(nodes) = affinity.node_affinity.as_mut() else {
        return;
    };
    let terms = &mut nodes.preferred_during_scheduling_ignored_during_execution;
    let Some(all) = terms.as_mut() else {
        return;
    };
    let is_about_old = |term: &PreferredSchedulingTerm| {
        let asked = term.preference.match_expressions.iter().flatten();
        asked.into_iter().any(|asked| is_old(&asked.key))
    };
    let had = all.len();
    all.retain(|term| !is_about_old(term));
    // A list that was empty before is another author's way to write nothing.
    if all.len() < had && all.is_empty() {
        *terms = None;
        if *nodes == Default::default() {
            affinity.node_affinity = None;
        }
        if *affinity == Default::default() {
            spec.affinity = None;
        }
    }
}
