//! The runtime of one target: creates, adopts, deletes and lists its pods.

mod connect;
mod create;
mod crowd;
mod mark;
mod resize;

use std::{
    collections::HashSet,
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use airside_model::{BuildId, Handle, InstallationId, VolumeId, WorkerName};
use airside_runtime::{
    Capabilities, Condition, Error, KeptLimits, Listed, Observation, PlacementSpec, Runtime,
    Shortage,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams};
use kube::core::PartialObjectMeta;
use tokio::{sync::watch, task::AbortHandle};

use crate::{
    attend::Doubts,
    keys::Keys,
    labels,
    network_policy::NetworkPolicies,
    next_images::NextImages,
    own_images::ImagePublisher,
    pod::pod_from,
    proof::{self, ProofError},
    pull_secrets::{self, PullSecretNames, PullSecrets},
    refusal::{classify, denies, unavailable},
    targets::{ClaimProof, Target},
    watch::Watched,
};

pub use connect::ConnectError;

/// Our own deletes come after the result is committed: nothing is left to flush.
const DESTROY_GRACE_SECONDS: u32 = 5;
/// Time limit of every request: a connection can die unnoticed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const PAGE: u32 = 500;

pub struct KubeRuntime {
    pub(crate) target: Target,
    pub(crate) publisher: OnceLock<Arc<dyn ImagePublisher>>,
    installation: InstallationId,
    pods: Api<Pod>,
    keys: Keys,
    watched: Arc<Watched>,
    watching: AbortHandle,
    pull_secrets: PullSecrets,
    network_policies: NetworkPolicies,
    next_images: NextImages,
    shrunk: resize::Shrunk,
    marked: mark::Marked,
    condition: watch::Receiver<Condition>,
    doubts: Doubts,
    attending: AbortHandle,
}

impl KubeRuntime {
    /// Sets the memory in which the names of pull secrets outlive this process. Without it they do
    /// not.
    pub fn remember_pull_secrets(&self, names: Arc<dyn PullSecretNames>) {
        self.pull_secrets.remember_in(names);
    }

    /// Sets the publisher that makes artifacts images that nodes can pull, for a target that has a
    /// registry.
    pub fn publish_images_with(&self, publisher: Arc<dyn ImagePublisher>) {
        // The first one stays.
        let _ = self.publisher.set(publisher);
    }

    pub fn tags(&self) -> &[String] {
        &self.target.tags
    }

    /// The one team this worker serves, if it is not for all.
    pub fn team(&self) -> Option<&str> {
        self.target.team.as_deref()
    }

    pub fn platform(&self) -> &'static str {
        "linux"
    }

    /// Returns true if a claim from here must pass [`KubeRuntime::verify_proof`].
    pub fn requires_proof(&self) -> bool {
        self.target.claim_proof == ClaimProof::Projected
    }

    /// Checks that the token of a claim was made for the pod of this handle, and, when its uid is
    /// known, for this incarnation of it.
    pub async fn verify_proof(
        &self,
        handle: &Handle,
        uid: Option<&str>,
        jwt: &str,
    ) -> Result<(), ProofError> {
        let expected = proof::Expected {
            audience: proof::audience(&self.installation),
            namespace: &self.target.namespace,
            handle,
            uid,
        };
        proof::verify(&self.keys, jwt, &expected).await
    }

    async fn ask<T>(
        &self,
        doing: &str,
        answer: impl Future<Output = kube::Result<T>>,
    ) -> Result<kube::Result<T>, Error> {
        tokio::time::timeout(REQUEST_TIMEOUT, answer)
            .await
            .map_err(|_| {
                let worker = &self.target.name;
                unavailable(worker, format!("{doing}: the API server does not answer"))
            })
    }

    fn classify(&self, doing: &str, error: &kube::Error) -> Error {
        // An administrator may have taken a right away.
        if matches!(error, kube::Error::Api(status) if denies(status)) {
            self.doubts.raise();
        }
        classify(&self.target.name, doing, error)
    }

    /// The pod is there already. Ours from an earlier call is fine; everything else is not.
    async fn adopt(&self, wanted: &Pod, handle: &Handle) -> Result<Option<String>, Error> {
        let doing = format!("cannot read pod {handle}");
        match self.ask(&doing, self.pods.get_opt(handle.as_str())).await? {
            Err(error) => Err(self.classify(&doing, &error)),
            Ok(None) => Err(self.unadopted(handle, Unadoptable::Leaving)),
            Ok(Some(found)) => match adoptable(wanted, &found) {
                Ok(()) => Ok(found.metadata.uid),
                Err(why) => Err(self.unadopted(handle, why)),
            },
        }
    }

    /// Lists all pods of this runtime with their metadata, without spec and status.
    async fn list_metadata(&self) -> Result<Vec<PartialObjectMeta<Pod>>, Error> {
        let doing = "cannot list pods";
        let selector = labels::selector(&self.installation, &self.target.name);
        let mut page = ListParams::default().labels(&selector).limit(PAGE);
        let mut listed = Vec::new();
        loop {
            let pods = self
                .ask(doing, self.pods.list_metadata(&page))
                .await?
                .map_err(|error| self.classify(doing, &error))?;
            listed.extend(pods.items);
            match pods.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(listed),
            }
        }
    }

    fn unadopted(&self, handle: &Handle, why: Unadoptable) -> Error {
        let message = format!("pod {handle} is there already and {why}");
        match why {
            Unadoptable::Leaving => unavailable(&self.target.name, message),
            _ => Error::refused(format!("{}: {message}", self.target.name)),
        }
    }
}

impl Drop for KubeRuntime {
    fn drop(&mut self) {
        self.watching.abort();
        self.attending.abort();
    }
}

#[async_trait]
impl Runtime for KubeRuntime {
    fn worker(&self) -> &WorkerName {
        &self.target.name
    }

    fn names_team(&self, team: &str) -> bool {
        self.target.names_team(team)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: false,
            lost_after: self.target.lost_after,
            has_host_image: self.target.host_image.is_some(),
            pulls_images: true,
            fence_after: self.target.fence_after,
        }
    }

    fn condition(&self) -> Option<watch::Receiver<Condition>> {
        Some(self.condition.clone())
    }

    async fn place(&self, spec: &PlacementSpec) -> Result<Option<String>, Error> {
        if spec.installation != self.installation {
            let (theirs, ours) = (&spec.installation, &self.installation);
            let message = format!("the step is of installation {theirs}, this runtime of {ours}");
            return Err(Error::refused(message));
        }
        let published = self.published(spec).await?;
        let mut pod = pod_from(spec, &self.target, published.as_deref())?;
        let reserved = self.watched.reserve(&spec.handle, self.target.max_pods);
        let reserved = reserved.map_err(|full| full.into_runtime(&self.target.name))?;
        self.network_policies.for_step(spec, &self.target).await?;
        if let Some(credential) = self.credential(spec, published.as_deref()) {
            let secret = self.pull_secrets.ensure(credential).await?;
            pull_secrets::refer(&mut pod, &secret);
        }
        let doing = format!("cannot create pod {}", spec.handle);
        match self.create(&doing, &pod).await? {
            Ok(created) => {
                reserved.keep();
                Ok(created.metadata.uid)
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                self.adopt(&pod, &spec.handle).await
            }
            Err(error) => Err(self.classify(&doing, &error)),
        }
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        self.watched.observe()
    }

    async fn destroy(&self, handle: &Handle) -> Result<(), Error> {
        let doing = format!("cannot delete pod {handle}");
        let how = DeleteParams::default().grace_period(DESTROY_GRACE_SECONDS);
        match self
            .ask(&doing, self.pods.delete(handle.as_str(), &how))
            .await?
        {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(self.classify(&doing, &error)),
        }
        self.shrunk.forget(handle);
        self.marked.forget(handle);
        Ok(())
    }

    fn kept(&self) -> KeptLimits {
        let kept = &self.target.kept;
        KeptLimits {
            most: kept.most,
            stay: kept.stay,
            shrink_after: Some(kept.shrink_after),
        }
    }

    async fn shrink(&self, handle: &Handle) -> Result<(), Error> {
        self.resize_down(handle).await
    }

    async fn mark_kept(&self, handle: &Handle) -> Result<(), Error> {
        self.mark(handle).await
    }

    async fn make_room(
        &self,
        spec: &PlacementSpec,
        shortage: &Shortage,
        kept: &[Handle],
    ) -> Result<Vec<Handle>, Error> {
        self.clear_room(spec, shortage, kept).await
    }

    fn doubt(&self) {
        self.doubts.wanted();
    }

    fn expect_images(&self, build: BuildId, images: &[String]) {
        self.next_images.expect(build, images);
    }

    /// Removes pull secrets that no pod names.
    async fn tidy(&self) -> Result<(), Error> {
        let candidates = self.pull_secrets.candidates().await?;
        if candidates.is_empty() {
            return Ok(());
        }
        let pods = self.list_metadata().await?;
        let used: HashSet<String> = (pods.iter())
            .filter_map(|pod| pull_secrets::in_use(pod.metadata.labels.as_ref()))
            .collect();
        for name in candidates.iter().filter(|name| !used.contains(*name)) {
            self.pull_secrets.collect(name).await?;
        }
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        let pods = self.list_metadata().await?;
        let listed = pods.into_iter().filter_map(|pod| {
            Some(Listed {
                handle: Handle(pod.metadata.name?),
                uid: pod.metadata.uid,
                leaving: pod.metadata.deletion_timestamp.is_some(),
            })
        });
        Ok(listed.collect())
    }

    async fn seal(&self, handle: &Handle, path: &str, _: &VolumeId) -> Result<(), Error> {
        Err(Error::refused(format!(
            "worker {} does not seal {path} of {handle}: in pods the shim uploads outputs",
            self.target.name
        )))
    }
}

/// The reason why a pod of the right name is not the one wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Unadoptable {
    #[error("belongs to another installation or worker")]
    Foreign,
    #[error("was made from another spec")]
    Different,
    #[error("is being deleted")]
    Leaving,
    #[error("has ended")]
    Ended,
}

/// Admission may have changed the found pod in any way; only our own marks are compared.
fn adoptable(wanted: &Pod, found: &Pod) -> Result<(), Unadoptable> {
    let label = |pod: &Pod, key: &str| pod.metadata.labels.as_ref()?.get(key).cloned();
    let hash = |pod: &Pod| {
        pod.metadata
            .annotations
            .as_ref()?
            .get(labels::SPEC_HASH)
            .cloned()
    };
    let same = |key| label(wanted, key) == label(found, key);
    if !same(labels::INSTALLATION) || !same(labels::WORKER) {
        return Err(Unadoptable::Foreign);
    }
    if hash(wanted) != hash(found) {
        return Err(Unadoptable::Different);
    }
    if found.metadata.deletion_timestamp.is_some() {
        return Err(Unadoptable::Leaving);
    }
    let phase = found
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return Err(Unadoptable::Ended);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
