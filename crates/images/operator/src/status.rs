//! The status of a set: a pure function of the answers of registries and the reports of nodes.

mod labels;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use airside_image_rules::{
    Counts, ImageSet, ImageSetStatus, NodeImage, NodeImageState, ResolvedImage, TagState, selection,
};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Node,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::ResourceExt as _;

use crate::{
    agents::Agents,
    desired::{self, bare},
    monitor::{Topic, TopicEntry},
    world::ClusterSnapshot,
};

/// Number of things that a message names before it only counts the rest.
const NAMED: usize = 3;

/// Everything that is needed for it.
pub(crate) struct StatusInput<'a> {
    pub(crate) moment: &'a ClusterSnapshot,
    pub(crate) agents: &'a Agents,
    pub(crate) entry: &'a dyn Fn(&Topic) -> Option<TopicEntry>,
    pub(crate) now: Timestamp,
    pub(crate) clock: Instant,
}

/// One verdict on the set, as a condition.
pub(crate) struct SetCondition {
    pub(crate) kind: &'static str,
    pub(crate) is_true: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

pub(crate) fn status(set: &ImageSet, view: &StatusInput<'_>) -> ImageSetStatus {
    let images = images(set, view);
    let nodes: Vec<&Arc<Node>> = view
        .moment
        .nodes
        .iter()
        .filter(|node| selection::selects(&set.spec, node))
        .collect();
    let tally = tally(&images, &nodes, view);
    let verdicts = [resolved(&images), ready(&images, &nodes, &tally)];
    let conditions = verdicts.map(|verdict| condition(verdict, set, view.now));
    ImageSetStatus {
        observed_generation: set.metadata.generation,
        conditions: conditions.into(),
        counts: Counts {
            images: count(images.len()),
            nodes: count(nodes.len()),
            present: format!("{}/{}", tally.present, images.len() * nodes.len()),
        },
        labels: labels::labels(&images),
        images,
        left_behind: Vec::new(),
    }
}

/// Returns true if the change is worth a write. A mere new time of a check is one only now and
/// then.
pub(crate) fn is_worth_writing(old: Option<&ImageSetStatus>, new: &ImageSetStatus) -> bool {
    let Some(old) = old else { return true };
    let timeless = |status: &ImageSetStatus| {
        let mut status = status.clone();
        for image in &mut status.images {
            (image.checked, image.next_check) = (None, None);
        }
        status
    };
    if timeless(old) != timeless(new) {
        return true;
    }
    // What was promised has passed: say what is promised now.
    let pairs = old.images.iter().zip(&new.images);
    let mut overdue =
        pairs.filter_map(|(old, new)| Some((old.next_check.as_ref()?.0, new.checked.as_ref()?.0)));
    overdue.any(|(promised, checked)| checked > promised)
}

/// Every tag and digest that the set means, each once.
fn images(set: &ImageSet, view: &StatusInput<'_>) -> Vec<ResolvedImage> {
    let mut found: BTreeMap<String, ResolvedImage> = BTreeMap::new();
    for (wanted, topic) in set.spec.images.iter().zip(desired::topics(set)) {
        let resolved = match &topic {
            Ok(topic) => of_topic(topic, (view.entry)(topic)),
            Err(words) => {
                let name = wanted.image.as_ref().or(wanted.repository.as_ref());
                vec![bare_image(
                    name.cloned().unwrap_or_default(),
                    TagState::Error,
                    words.clone(),
                )]
            }
        };
        for image in resolved {
            found.entry(image.image.clone()).or_insert(image);
        }
    }
    found.into_values().collect()
}

fn bare_image(image: String, state: TagState, message: String) -> ResolvedImage {
    ResolvedImage {
        image,
        digest: String::new(),
        platforms: BTreeMap::new(),
        state,
        checked: None,
        next_check: None,
        moved: None,
        failures: 0,
        message,
    }
}

fn of_topic(topic: &Topic, entry: Option<TopicEntry>) -> Vec<ResolvedImage> {
    let Some(entry) = entry else {
        return vec![bare_image(
            topic.question.to_string(),
            TagState::Pending,
            String::new(),
        )];
    };
    let trouble = entry.trouble.as_ref();
    let state = trouble.map(|trouble| trouble.state);
    let words = trouble
        .map(|trouble| trouble.words.clone())
        .unwrap_or_default();
    let dressed = |image: ResolvedImage| ResolvedImage {
        checked: entry.checked.map(seconds),
        next_check: entry.next.map(seconds),
        failures: entry.failures,
        message: words.clone(),
        ..image
    };
    if entry.known.is_empty() {
        let state = state.unwrap_or(TagState::Pending);
        return vec![dressed(bare_image(
            topic.question.to_string(),
            state,
            String::new(),
        ))];
    }
    let known = entry.known.iter().map(|known| {
        let platforms = known
            .platforms
            .iter()
            .map(|(name, image)| (bare(name), image.clone()));
        dressed(ResolvedImage {
            digest: known.digest.to_string(),
            platforms: platforms.collect(),
            moved: known.moved.map(seconds),
            ..bare_image(
                known.image.to_string(),
                state.unwrap_or(TagState::Found),
                String::new(),
            )
        })
    });
    known.collect()
}

/// Cuts a time to the second, which is the precision of API servers.
fn seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

#[derive(Default)]
struct Tally {
    present: usize,
    pulling: usize,
    /// Messages of failures, each with its node.
    errors: Vec<String>,
    silent: Vec<String>,
    unfit: Vec<String>,
}

fn tally(images: &[ResolvedImage], nodes: &[&Arc<Node>], view: &StatusInput<'_>) -> Tally {
    let mut tally = Tally::default();
    for node in nodes {
        let name = node.name_any();
        if !view.agents.is_alive(&name, view.clock) {
            tally.silent.push(name);
            continue;
        }
        let status = view
            .moment
            .node_images
            .get(&name)
            .and_then(|it| it.status.as_ref());
        let listed = status
            .map(|status| status.images.as_slice())
            .unwrap_or_default();
        let platform = selection::platform(node).unwrap_or_default();
        for image in images.iter().filter(|image| !image.digest.is_empty()) {
            if !image.platforms.contains_key(&platform) {
                tally.unfit.push(format!(
                    "{} has nothing for {name}, which is {platform}",
                    image.image
                ));
                continue;
            }
            let found = listed.iter().find(|found| is_of(found, image, &platform));
            match found.map(|found| (found.state, &found.message)) {
                Some((NodeImageState::Present, _)) => tally.present += 1,
                Some((NodeImageState::Pulling, _)) => tally.pulling += 1,
                Some((NodeImageState::Error, message)) => {
                    tally
                        .errors
                        .push(format!("{} on {name}: {message}", image.image));
                }
                Some((NodeImageState::Pending, _)) | None => {}
            }
        }
    }
    tally
}

/// Returns true if a node's entry is this image with its present content.
fn is_of(found: &NodeImage, image: &ResolvedImage, platform: &str) -> bool {
    let manifest = image.platforms.get(platform).map(|it| it.digest.as_str());
    found.image == image.image
        && (found.digest == image.digest || Some(found.digest.as_str()) == manifest)
}

fn resolved(images: &[ResolvedImage]) -> SetCondition {
    let of = |is_true, reason, message| SetCondition {
        kind: "Resolved",
        is_true,
        reason,
        message,
    };
    let told = |state| {
        let all = images.iter().filter(|image| image.state == state);
        some(
            &all.map(|image| format!("{}: {}", image.image, image.message))
                .collect::<Vec<_>>(),
        )
    };
    let has = |state| images.iter().any(|image| image.state == state);
    if has(TagState::Error) {
        return of(false, "RegistryError", told(TagState::Error));
    }
    if has(TagState::Missing) {
        return of(false, "Missing", told(TagState::Missing));
    }
    if has(TagState::Pending) {
        return of(false, "Asking", "registries are being asked".to_owned());
    }
    of(
        true,
        "Found",
        format!("{} found", plural(images.len(), "image")),
    )
}

fn ready(images: &[ResolvedImage], nodes: &[&Arc<Node>], tally: &Tally) -> SetCondition {
    let of = |is_true, reason, message| SetCondition {
        kind: "Ready",
        is_true,
        reason,
        message,
    };
    let all = images.len() * nodes.len();
    let unknown: Vec<String> = images
        .iter()
        .filter(|image| image.digest.is_empty())
        .map(|image| image.image.clone())
        .collect();
    if nodes.is_empty() {
        return of(
            false,
            "NoNodes",
            "the set selects no node; check spec.nodes and spec.platforms".to_owned(),
        );
    }
    if tally.present == all {
        let (images, nodes) = (plural(images.len(), "image"), plural(nodes.len(), "node"));
        return of(true, "AllPresent", format!("{images} on {nodes}"));
    }
    let so_far = format!("{} of {all} images are present", tally.present);
    let with = |words: String| format!("{so_far}; {words}");
    if !tally.errors.is_empty() {
        return of(false, "PullError", with(some(&tally.errors)));
    }
    if !unknown.is_empty() {
        return of(
            false,
            "NotResolved",
            with(format!("not resolved yet: {}", some(&unknown))),
        );
    }
    if !tally.unfit.is_empty() {
        return of(false, "NoPlatform", with(some(&tally.unfit)));
    }
    if !tally.silent.is_empty() {
        return of(
            false,
            "NoAgent",
            with(format!(
                "no report from the agent on {}",
                some(&tally.silent)
            )),
        );
    }
    let reason = if tally.pulling > 0 {
        "Pulling"
    } else {
        "Waiting"
    };
    of(false, reason, so_far)
}

fn some(all: &[String]) -> String {
    let named = all
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn plural(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(crate) fn condition(verdict: SetCondition, set: &ImageSet, now: Timestamp) -> Condition {
    let before = set
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice());
    let before = before
        .unwrap_or_default()
        .iter()
        .find(|it| it.type_ == verdict.kind);
    let status = if verdict.is_true { "True" } else { "False" };
    let since = before.filter(|before| before.status == status);
    Condition {
        type_: verdict.kind.to_owned(),
        status: status.to_owned(),
        reason: verdict.reason.to_owned(),
        message: verdict.message,
        observed_generation: set.metadata.generation,
        last_transition_time: since.map_or_else(
            || seconds(now),
            |before| before.last_transition_time.clone(),
        ),
    }
}

/// The names that a set's status gives its images.
pub(crate) fn names(set: &ImageSet) -> BTreeSet<&str> {
    let images = set.status.iter().flat_map(|status| &status.images);
    images.map(|image| image.image.as_str()).collect()
}

#[cfg(test)]
mod tests;
