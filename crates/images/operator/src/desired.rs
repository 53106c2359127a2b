//! Questions of sets to registries: each entry of each set as a topic of the monitor.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use airside_image_rules::{ImageSet, ImageSetSpec, ResolvedImage, TagState, selection};
use airside_oci::Digest;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;

use crate::monitor::{KnownTag, Question, Secrets, Seed, Topic, WantedTopic};

/// One entry of a set's images: a topic, or words on why it is none.
pub(crate) type SetTopic = Result<Topic, String>;

/// Returns the topics of a set in the order of its spec.
pub(crate) fn topics(set: &ImageSet) -> Vec<SetTopic> {
    let secrets = (!set.spec.pull_secrets.is_empty()).then(|| Secrets {
        namespace: set.namespace().unwrap_or_default(),
        names: set.spec.pull_secrets.clone(),
    });
    let topic = |question| Topic {
        question,
        secrets: secrets.clone(),
    };
    let of = |wanted| {
        Question::of(wanted)
            .map(topic)
            .map_err(|error| airside_model::chain(&error))
    };
    set.spec.images.iter().map(of).collect()
}

/// Platforms of the set as images call them: those it names, or else those of its nodes.
pub(crate) fn platforms(set: &ImageSetSpec, nodes: &[Arc<Node>]) -> BTreeSet<String> {
    if !set.platforms.is_empty() {
        return set.platforms.iter().cloned().collect();
    }
    let chosen = nodes.iter().filter(|node| selection::selects(set, node));
    chosen
        .filter_map(|node| selection::platform(node))
        .collect()
}

/// The system and architecture alone, which is all that nodes say of themselves.
pub(crate) fn bare(platform: &str) -> String {
    platform
        .splitn(3, '/')
        .take(2)
        .collect::<Vec<_>>()
        .join("/")
}

/// Returns the topics that the monitor must follow for a set. `is_new` means that this process sees
/// the set for the first time: the status that another process wrote of the same spec is as good as
/// an answer.
pub(crate) fn wants(set: &ImageSet, nodes: &[Arc<Node>], is_new: bool) -> Vec<WantedTopic> {
    let platforms = platforms(&set.spec, nodes);
    let every = interval(&set.spec.check_every);
    let resolved = set.status.as_ref().map(|status| status.images.as_slice());
    let resolved = resolved.unwrap_or_default();
    let observed = set.status.as_ref().and_then(|it| it.observed_generation);
    let is_about_its_spec = observed == set.metadata.generation;
    let want = |topic: Topic| WantedTopic {
        every,
        platforms: platforms.clone(),
        seed: seed(&topic, resolved, &platforms),
        is_new: is_new && resolved.is_empty(),
        is_edited: !is_new || !is_about_its_spec,
        topic,
    };
    topics(set).into_iter().flatten().map(want).collect()
}

/// Returns the answer about a topic that the set's status has.
fn seed(topic: &Topic, resolved: &[ResolvedImage], platforms: &BTreeSet<String>) -> Option<Seed> {
    let is_about = |image: &&ResolvedImage| match (&topic.question, image.image.parse()) {
        (Question::Image(name), Ok(found)) => *name == found,
        (Question::Tags { repository, .. }, Ok(found)) => *repository == *found.repository(),
        (_, Err(_)) => false,
    };
    let about: Vec<&ResolvedImage> = resolved.iter().filter(is_about).collect();
    let known: Vec<KnownTag> = about
        .iter()
        .filter_map(|image| known(image, platforms))
        .collect();
    let seed = Seed {
        checked: about
            .iter()
            .filter_map(|image| Some(image.checked.as_ref()?.0))
            .max(),
        next: about
            .iter()
            .filter_map(|image| Some(image.next_check.as_ref()?.0))
            .min(),
        known,
    };
    (!seed.known.is_empty()).then_some(seed)
}

fn known(image: &ResolvedImage, wanted: &BTreeSet<String>) -> Option<KnownTag> {
    let has = |platform: &&String| image.platforms.contains_key(&bare(platform));
    let platforms: BTreeMap<_, _> = wanted
        .iter()
        .filter_map(|platform| {
            Some((
                platform.clone(),
                image.platforms.get(&bare(platform))?.clone(),
            ))
        })
        .collect();
    Some(KnownTag {
        image: image.image.parse().ok()?,
        digest: Digest::parse(&image.digest).ok()?,
        platforms,
        asked_for: match image.state {
            TagState::Found => wanted.iter().filter(has).cloned().collect(),
            TagState::Pending | TagState::Missing | TagState::Error => BTreeSet::new(),
        },
        mark: None,
        moved: image.moved.as_ref().map(|time| time.0),
    })
}

/// `1h30m`, or none for `never`. What the API server lets through is understood.
pub(crate) fn interval(text: &str) -> Option<Duration> {
    let (mut seconds, mut number) = (0_u64, 0_u64);
    for byte in text.bytes() {
        let unit = match byte {
            b'0'..=b'9' => {
                number = number
                    .saturating_mul(10)
                    .saturating_add(u64::from(byte - b'0'));
                continue;
            }
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            _ => return None,
        };
        seconds = seconds.saturating_add(number.saturating_mul(unit));
        number = 0;
    }
    // Registries are not asked without a pause, and no clock goes further.
    Some(Duration::from_secs(seconds.clamp(5, 365 * 24 * 3600)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn intervals() {
        let seconds = |text| interval(text).map(|it| it.as_secs());
        assert_eq!(seconds("never"), None);
        assert_eq!(seconds("5m"), Some(300));
        assert_eq!(seconds("1h30m"), Some(5400));
        assert_eq!(seconds("0s"), Some(5));
        assert_eq!(seconds(&format!("{}h", u64::MAX)), Some(365 * 24 * 3600));
    }

    #[test]
    fn what_the_status_says_is_known_after_a_start() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let set: ImageSet = serde_json::from_value(json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
            "metadata": {"name": "s", "namespace": "n"},
            "spec": {
                "images": [{"image": "busybox"}, {"repository": "r.example/a", "semver": "^1", "keep": 2}, {"image": "B AD"}],
                "platforms": ["linux/amd64"], "pullSecrets": ["one"],
            },
            "status": {"counts": {"images": 0, "nodes": 0}, "images": [
                {"image": "docker.io/library/busybox:latest", "digest": digest, "state": "found", "nextCheck": "2026-01-01T00:00:00Z",
                 "platforms": {"linux/amd64": {"digest": digest, "id": digest, "sizeBytes": 1}}},
                {"image": "r.example/a:1.2.0", "digest": digest, "state": "error"},
                {"image": "r.example/b:1.2.0", "digest": digest, "state": "found"},
            ]},
        }))
        .unwrap();
        let wants = wants(&set, &[], true);
        assert_eq!(wants.len(), 2);
        assert!(topics(&set)[2].is_err());
        let [busybox, tags] = &wants[..] else {
            panic!("two")
        };
        let seed = busybox.seed.as_ref().unwrap();
        assert_eq!(
            seed.known[0].asked_for,
            BTreeSet::from(["linux/amd64".to_owned()])
        );
        assert!(seed.next.is_some());
        let seed = tags.seed.as_ref().unwrap();
        assert_eq!(seed.known.len(), 1);
        assert!(
            seed.known[0].asked_for.is_empty(),
            "what was in trouble is asked for anew"
        );
        assert!(
            wants.iter().all(|want| !want.is_new),
            "a set with a status was seen before"
        );
        assert_eq!(busybox.topic.secrets.as_ref().unwrap().namespace, "n");
        assert!(wants.iter().all(|want| !want.is_edited));
    }

    #[test]
    fn what_was_known_before_an_edit_is_asked_about_at_once() {
        let set = |generation: i64, observed: i64| -> ImageSet {
            serde_json::from_value(json!({
                "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
                "metadata": {"name": "s", "namespace": "n", "generation": generation},
                "spec": {"images": [{"repository": "r.example/a", "semver": "^2"}]},
                "status": {"observedGeneration": observed, "counts": {"images": 0, "nodes": 0}},
            }))
            .unwrap()
        };
        // (This process sees the set for the first time, the status is about this spec.)
        for (is_new, observed, expected) in [(true, 2, false), (true, 1, true), (false, 2, true)] {
            let wants = wants(&set(2, observed), &[], is_new);
            assert_eq!(wants[0].is_edited, expected, "{is_new} {observed}");
        }
    }
}
