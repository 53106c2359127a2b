//! Images that builds will want soon, as a hint to the agents that keep images on nodes: one
//! `ImageSet` for the target, there as long as builds have steps to come.
//!
//! A hint and no more. It is written behind everything else, several changes at once. Where it
//! cannot be written (no such resource in the cluster, no right to it) that is logged and nothing
//! else happens.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use airside_image_rules::{
    ImageSet, ImageSetSpec, NodeChoice, Placement, PlacementMode, WantedImage,
};
use airside_model::{BuildId, InstallationId, chain};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    task::AbortHandle,
    time::{Instant, sleep_until},
};
use tracing::{debug, warn};

use crate::{pod::toleration, targets::Target};

/// Changes within this time are written at once.
const PAUSE: Duration = Duration::from_millis(500);
/// The set stays a little for the next build.
const LINGER: Duration = Duration::from_secs(20);
/// Number of images that a set takes.
const MAX_IMAGES: usize = 256;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MANAGER: &str = "airside";

type Said = (BuildId, Vec<String>);

/// The hints of one target; nothing if it wants none.
pub(crate) struct NextImages(Option<(UnboundedSender<Said>, AbortHandle)>);

impl NextImages {
    pub(crate) fn start(client: &Client, target: &Target, installation: &InstallationId) -> Self {
        if !target.prefetch {
            return Self(None);
        }
        let (say, said) = mpsc::unbounded_channel();
        let writer = Writer {
            sets: Api::namespaced(client.clone(), &target.namespace),
            name: name(installation, target),
            target: target.clone(),
            wanted: BTreeMap::new(),
            written: None,
        };
        let task = airside_tasks::spawn("images of next steps", writer.follow(said)).abort_handle();
        Self(Some((say, task)))
    }

    pub(crate) fn expect(&self, build: BuildId, images: &[String]) {
        if let Some((say, _)) = &self.0 {
            // It ends with the runtime, and so does the hint.
            let _ = say.send((build, images.to_vec()));
        }
    }
}

impl Drop for NextImages {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.0 {
            task.abort();
        }
    }
}

struct Writer {
    sets: Api<ImageSet>,
    name: String,
    target: Target,
    wanted: BTreeMap<BuildId, Vec<String>>,
    /// The images that the cluster's set has; nothing if that is not known, as at the start.
    written: Option<BTreeSet<String>>,
}

impl Writer {
    async fn follow(mut self, mut said: UnboundedReceiver<Said>) {
        // A set that an earlier process left goes if no build wants it.
        let mut due = Some(Instant::now() + LINGER);
        loop {
            tokio::select! {
                news = said.recv() => match news {
                    Some(news) => due = self.take(news, due),
                    None => return,
                },
                () = until(due) => {
                    self.write().await;
                    due = None;
                }
            }
        }
    }

    /// Says when to write.
    fn take(&mut self, (build, images): Said, due: Option<Instant>) -> Option<Instant> {
        if images.is_empty() {
            self.wanted.remove(&build);
        } else {
            self.wanted.insert(build, images);
        }
        let now = Instant::now();
        if self.wanted.is_empty() {
            Some(now + LINGER)
        } else {
            Some(due.unwrap_or(now + PAUSE).min(now + PAUSE))
        }
    }

    async fn write(&mut self) {
        let wanted: BTreeSet<String> = self
            .wanted
            .values()
            .flatten()
            .take(MAX_IMAGES)
            .cloned()
            .collect();
        if self.written.as_ref() == Some(&wanted) {
            return;
        }
        let asked = async {
            if wanted.is_empty() {
                match self.sets.delete(&self.name, &DeleteParams::default()).await {
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                    done => done.map(drop),
                }
            } else {
                let set = Patch::Apply(set(&self.name, &self.target, &wanted));
                let how = PatchParams::apply(MANAGER).force();
                self.sets.patch(&self.name, &how, &set).await.map(drop)
            }
        };
        let worker = &self.target.name;
        match tokio::time::timeout(REQUEST_TIMEOUT, asked).await {
            Ok(Ok(())) => {
                debug!(%worker, images = wanted.len(), "images of next steps announced");
                self.written = Some(wanted);
            }
            Ok(Err(error)) => {
                warn!(%worker, error = %chain(&error), "images of next steps not announced");
                self.written = None;
            }
            Err(_) => {
                warn!(%worker, "images of next steps not announced: the API server does not answer");
                self.written = None;
            }
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Several installations and targets may share a namespace.
fn name(installation: &InstallationId, target: &Target) -> String {
    let whose = format!("{}\n{}", installation.as_str(), target.name);
    let hash = Sha256::digest(whose);
    let short: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("airside-next-{short}")
}

fn set(name: &str, target: &Target, images: &BTreeSet<String>) -> ImageSet {
    let wanted = images.iter().map(|image| WantedImage {
        image: Some(image.clone()),
        keep: 1,
        ..WantedImage::default()
    });
    let spec = ImageSetSpec {
        images: wanted.collect(),
        nodes: NodeChoice {
            match_labels: target.node_selector.clone(),
            tolerations: target.tolerations.iter().map(toleration).collect(),
            ..NodeChoice::default()
        },
        platforms: Vec::new(),
        pull_secrets: target.pull_secrets.clone(),
        check_every: "5m".to_owned(),
        failures_before_error: 3,
        // Pods of steps know by themselves where they want to go.
        placement: Placement {
            mode: PlacementMode::None,
            ..Placement::default()
        },
        pinned: false,
        priority: 0,
    };
    ImageSet::new(name, spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::tests::target;

    #[test]
    fn the_set_is_as_its_target() {
        let target = target("prefetch: true\n  node_selector: {pool: ci}\n  pull_secrets: [login]");
        let images = BTreeSet::from(["app:1".to_owned(), "b:2".to_owned()]);
        let name = name(&InstallationId::new("i"), &target);
        let set = set(&name, &target, &images);
        insta::assert_snapshot!(serde_json::to_string_pretty(&set).unwrap());
    }
}
