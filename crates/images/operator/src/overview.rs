//! The overview of `airside images status`: sets by nodes. It only reads.

mod table;

use std::{collections::BTreeMap, sync::Arc};

use airside_image_rules::{ImageSet, NodeImageState, TagState, selection};
use jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use serde::Serialize;
use tokio::{sync::Notify, task::JoinSet};

pub use self::table::{Style, table};
use crate::world::{ClusterSnapshot, ObservedCluster};

/// Seconds without a heartbeat after which an agent is shown as silent.
const SILENT_SECONDS: i64 = 90;

/// Everything that is known, at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub sets: Vec<SetView>,
    #[serde(skip)]
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetView {
    pub namespace: String,
    pub name: String,
    pub ready: bool,
    pub message: String,
    pub present: usize,
    pub wanted: usize,
    pub nodes: Vec<String>,
    pub images: Vec<ImageView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageView {
    pub image: String,
    pub digest: String,
    pub state: TagWord,
    /// The biggest of its platforms.
    pub size_bytes: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// State of the image on each node, by the node's name.
    pub nodes: BTreeMap<String, ImageOnNode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TagWord {
    Pending,
    Found,
    Missing,
    Error,
}

/// An image on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageOnNode {
    pub state: ImageOnNodeState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageOnNodeState {
    Pending,
    Pulling,
    Present,
    Error,
    /// The node's agent sends no reports.
    Silent,
}

/// Shows the overview now, and again whenever something changes, until `show` returns false.
pub async fn follow(client: &Client, mut show: impl FnMut(&Overview) -> bool) {
    let (changed, mut tasks) = (Arc::new(Notify::new()), JoinSet::new());
    let world = ObservedCluster::watch(client, &changed, &mut tasks).await;
    loop {
        let seen = overview(&world.now(), Timestamp::now());
        if !show(&seen) {
            return;
        }
        // How long a pull takes is shown by the second.
        let tick = tokio::time::sleep(std::time::Duration::from_secs(1));
        tokio::select! {
            () = changed.notified() => {}
            () = tick, if seen.is_pulling() => {}
        }
    }
}

impl Overview {
    pub fn is_pulling(&self) -> bool {
        let images = self.sets.iter().flat_map(|set| &set.images);
        let mut places = images.flat_map(|image| image.nodes.values());
        places.any(|place| place.state == ImageOnNodeState::Pulling)
    }
}

fn overview(moment: &ClusterSnapshot, now: Timestamp) -> Overview {
    let sets = moment.sets.iter().map(|set| of_set(set, moment, now));
    Overview {
        sets: sets.collect(),
        now,
    }
}

fn of_set(set: &ImageSet, moment: &ClusterSnapshot, now: Timestamp) -> SetView {
    let status = set.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|it| it.type_ == "Ready");
    let chosen = moment
        .nodes
        .iter()
        .filter(|node| selection::selects(&set.spec, node));
    let nodes: Vec<String> = chosen.map(|node| node.name_any()).collect();
    let images: Vec<ImageView> = status
        .images
        .iter()
        .map(|image| ImageView {
            nodes: nodes
                .iter()
                .map(|node| {
                    (
                        node.clone(),
                        place(moment, node, &image.image, &image.digest, now),
                    )
                })
                .collect(),
            image: image.image.clone(),
            digest: image.digest.clone(),
            state: word(image.state),
            size_bytes: image
                .platforms
                .values()
                .map(|it| it.size_bytes)
                .max()
                .unwrap_or(0),
            message: image.message.clone(),
        })
        .collect();
    let places = images.iter().flat_map(|image| image.nodes.values());
    SetView {
        namespace: set.namespace().unwrap_or_default(),
        name: set.name_any(),
        ready: ready.is_some_and(|it| it.status == "True"),
        message: ready.map(|it| it.message.clone()).unwrap_or_default(),
        present: places
            .filter(|place| place.state == ImageOnNodeState::Present)
            .count(),
        wanted: images.len() * nodes.len(),
        nodes,
        images,
    }
}

fn word(state: TagState) -> TagWord {
    match state {
        TagState::Pending => TagWord::Pending,
        TagState::Found => TagWord::Found,
        TagState::Missing => TagWord::Missing,
        TagState::Error => TagWord::Error,
    }
}

fn place(
    moment: &ClusterSnapshot,
    node: &str,
    image: &str,
    digest: &str,
    now: Timestamp,
) -> ImageOnNode {
    let bare = |state| ImageOnNode {
        state,
        seconds: None,
        message: String::new(),
    };
    let status = moment
        .node_images
        .get(node)
        .and_then(|it| it.status.as_ref());
    let heartbeat = status.and_then(|status| status.heartbeat.as_ref());
    let is_heard = heartbeat.is_some_and(|it| now.duration_since(it.0).as_secs() < SILENT_SECONDS);
    let (Some(status), true) = (status, is_heard) else {
        return bare(ImageOnNodeState::Silent);
    };
    let found = status
        .images
        .iter()
        .find(|it| it.image == image && (it.digest == digest || digest.is_empty()));
    let Some(found) = found else {
        return bare(ImageOnNodeState::Pending);
    };
    ImageOnNode {
        state: match found.state {
            NodeImageState::Pending => ImageOnNodeState::Pending,
            NodeImageState::Pulling => ImageOnNodeState::Pulling,
            NodeImageState::Present => ImageOnNodeState::Present,
            NodeImageState::Error => ImageOnNodeState::Error,
        },
        seconds: found
            .since
            .as_ref()
            .map(|since| now.duration_since(since.0).as_secs().max(0)),
        message: found.message.clone(),
    }
}
