//! Copies ahead what the cluster's `ImageSet`s want, as their statuses say what tags mean.

use std::collections::HashSet;

use airside_image_rules::{ImageSet, TagState};
use airside_model::chain;
use airside_oci::{Digest, Reference};
use futures::TryStreamExt as _;
use kube::{
    Api, Client,
    runtime::{WatchStreamExt as _, watcher},
};
use tokio_util::sync::CancellationToken;

use crate::{Ahead, Mirror};

impl Mirror {
    /// Copies images of sets until the shutdown. An image that cannot be copied is tried again when
    /// its set changes.
    pub async fn follow_sets(&self, client: Client, shutdown: &CancellationToken) {
        let sets = Api::<ImageSet>::all(client);
        let changes = watcher(sets, watcher::Config::default());
        let mut changes = Box::pin(changes.default_backoff().applied_objects());
        let mut copied = HashSet::new();
        loop {
            let change = tokio::select! {
                () = shutdown.cancelled() => return,
                change = changes.try_next() => change,
            };
            match change {
                Ok(Some(set)) => self.copy_set(&set, &mut copied).await,
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(
                        error = %chain(&error),
                        "watch of image sets failed"
                    );
                }
            }
        }
    }

    async fn copy_set(&self, set: &ImageSet, copied: &mut HashSet<(Reference, Vec<String>)>) {
        for ahead in wanted(set) {
            let key = (ahead.image.clone(), ahead.platforms.clone());
            if copied.contains(&key) {
                continue;
            }
            match self.copy(&ahead).await {
                Ok(()) => {
                    tracing::info!(image = %ahead.image, "image copied ahead");
                    copied.insert(key);
                }
                Err(error) => {
                    tracing::warn!(
                        image = %ahead.image,
                        error = %chain(&error),
                        "image not copied ahead"
                    );
                }
            }
        }
    }
}

/// Returns the set's images by content: what a tag means is for the set to say.
fn wanted(set: &ImageSet) -> Vec<Ahead> {
    let images = set.status.iter().flat_map(|status| &status.images);
    let found = images.filter(|image| image.state == TagState::Found);
    let ahead = found.filter_map(|image| {
        let name: Reference = image.image.parse().ok()?;
        let digest = Digest::parse(&image.digest).ok()?;
        Some(Ahead {
            image: name.at(&digest),
            platforms: image.platforms.keys().cloned().collect(),
        })
    });
    ahead.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_want() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let set: ImageSet = serde_json::from_value(serde_json::json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet", "metadata": {"name": "s"},
            "spec": {"images": [{"image": "busybox"}]},
            "status": {"images": [
                {"image": "docker.io/library/busybox:latest", "digest": digest, "state": "found",
                 "platforms": {"linux/arm64": {"digest": digest, "id": digest, "sizeBytes": 1}}},
                {"image": "docker.io/library/gone:latest", "state": "missing"},
                {"image": "docker.io/library/odd:latest", "digest": "x", "state": "found"},
            ]},
        }))
        .unwrap();
        let wanted = wanted(&set);
        assert_eq!(wanted.len(), 1, "{wanted:?}");
        assert_eq!(
            wanted[0].image.to_string(),
            format!("docker.io/library/busybox@{digest}")
        );
        assert_eq!(wanted[0].platforms, ["linux/arm64"]);
    }
}
