//! Workloads that were there before their image set: those that opted in are placed once, the
//! others get an event.
//!
//! A changed template starts all pods anew, so it is changed only after an opt-in, and only if it
//! has no term of ours yet. From then on admission sees every change. A Job's template cannot be
//! changed.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use airside_image_rules::{PlacementMode, placement::KnownImages};
use airside_model::chain;
use airside_oci::Reference;
use futures::StreamExt as _;
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::CronJob,
    core::v1::Namespace,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    core::PartialObjectMeta,
    runtime::watcher,
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    NAME, PLACE, View,
    events::Events,
    kept::{Key, ObjectCache},
    template::{self, Templated, place_object},
    watch::{ViewReceiver, patient},
};

/// Pause between two passes, so that changes that come together are handled together.
const PAUSE: Duration = Duration::from_secs(1);
/// Namespace of the cluster's own pods, which are left alone.
const NEVER: &str = "kube-system";

type OptedIn = watch::Receiver<BTreeSet<String>>;

/// The fields of a workload that matter here.
#[derive(Clone, Debug, PartialEq)]
struct Summary {
    images: Vec<Reference>,
    is_placed: bool,
    /// Value of the workload's own label.
    choice: Option<bool>,
}

/// Places the workloads that were there before their image sets, until the shutdown. The images of
/// the system itself are in the namespace `home`.
pub(crate) async fn place_existing(
    client: Client,
    home: String,
    seen: ViewReceiver,
    shutdown: CancellationToken,
) {
    let (opt_in, opted_in) = watch::channel(BTreeSet::new());
    let home: Arc<str> = home.into();
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = watch_namespaces(client.clone(), opt_in) => {}
        () = follow::<Deployment>(client.clone(), home.clone(), seen.clone(), opted_in.clone()) => {}
        () = follow::<StatefulSet>(client.clone(), home.clone(), seen.clone(), opted_in.clone()) => {}
        () = follow::<CronJob>(client, home, seen, opted_in) => {}
    }
}

async fn watch_namespaces(client: Client, opt_in: watch::Sender<BTreeSet<String>>) {
    let watched = watcher::Config::default().labels(&format!("{PLACE}=true"));
    let all: Api<PartialObjectMeta<Namespace>> = Api::all(client);
    let mut news = patient(kube::runtime::watcher(all, watched), "namespaces");
    let mut kept: ObjectCache<()> = ObjectCache::default();
    while let Some(event) = news.next().await {
        // The value says nothing: that it is there is what counts.
        kept.take(event, drop);
        let names: BTreeSet<String> = kept.iter().map(|((_, name), ())| name.clone()).collect();
        opt_in.send_if_modified(|said| {
            let is_other = *said != names;
            *said = names;
            is_other
        });
    }
}

struct Workloads<K> {
    client: Client,
    events: Events,
    home: Arc<str>,
    kept: ObjectCache<Summary>,
    told: BTreeSet<Key>,
    kind: std::marker::PhantomData<K>,
}

async fn follow<K: Templated>(
    client: Client,
    home: Arc<str>,
    mut seen: ViewReceiver,
    mut opted_in: OptedIn,
) {
    let all: Api<K> = Api::all(client.clone());
    let mut news = patient(
        kube::runtime::watcher(all, watcher::Config::default()),
        "workloads",
    )
    .ready_chunks(256);
    let mut workloads: Workloads<K> = Workloads {
        events: Events::new(client.clone()),
        client,
        home,
        kept: ObjectCache::default(),
        told: BTreeSet::new(),
        kind: std::marker::PhantomData,
    };
    loop {
        tokio::select! {
            chunk = news.next() => match chunk {
                Some(chunk) => for event in chunk {
                    workloads.kept.take(event, summary);
                },
                None => return,
            },
            changed = seen.changed() => if changed.is_err() { return },
            changed = opted_in.changed() => if changed.is_err() { return },
        }
        let view = seen.borrow_and_update().clone();
        let opted_in = opted_in.borrow_and_update().clone();
        if let (Some(view), true) = (view, workloads.kept.is_whole()) {
            workloads.pass(&view, &opted_in).await;
            sleep(PAUSE).await;
        }
    }
}

fn summary<K: Templated>(object: K) -> Summary {
    let labels = object.meta().labels.as_ref();
    let choice = labels.and_then(|labels| labels.get(PLACE)?.parse().ok());
    let template = object.template();
    Summary {
        images: template.map(template::images).unwrap_or_default(),
        is_placed: template.is_some_and(template::is_placed),
        choice,
    }
}

/// Action on a workload.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    Place,
    Tell,
}

impl Summary {
    fn due(&self, known: &KnownImages, is_opted_in: bool) -> Due {
        let is_meant = |name: &Reference| {
            known
                .get(name)
                .is_some_and(|image| image.placement.mode != PlacementMode::None)
        };
        if self.is_placed || !self.images.iter().any(is_meant) {
            return Due::Nothing;
        }
        match self.choice {
            Some(true) => Due::Place,
            Some(false) => Due::Nothing,
            None if is_opted_in => Due::Place,
            None => Due::Tell,
        }
    }
}

impl<K: Templated> Workloads<K> {
    async fn pass(&mut self, view: &View, opted_in: &BTreeSet<String>) {
        let mut due = Vec::new();
        for (key, summary) in self.kept.iter() {
            if key.0 == *self.home || key.0 == NEVER {
                continue;
            }
            let what = summary.due(view.of(&key.0), opted_in.contains(&key.0));
            if what != Due::Nothing {
                due.push((key.clone(), what));
            }
        }
        for (key, what) in due {
            if what == Due::Tell && !self.told.insert(key.clone()) {
                continue;
            }
            if let Err(error) = self.attend(&key, &what, view).await {
                warn!(
                    error = %chain(&error),
                    namespace = key.0, name = key.1, kind = %K::kind(&()),
                    "workload not placed"
                );
            }
        }
    }

    async fn attend(&self, key: &Key, what: &Due, view: &View) -> Result<(), kube::Error> {
        let objects: Api<K> = Api::namespaced(self.client.clone(), &key.0);
        let Some(mut object) = objects.get_opt(&key.1).await? else {
            return Ok(());
        };
        let about = object.object_ref(&());
        if *what == Due::Tell {
            let note = format!(
                "pods of this use images that image sets keep on nodes; label it or its namespace {PLACE}=true to \
                 have its template prefer those nodes too (its pods are then started anew)"
            );
            self.events.tell(&about, "NotPlaced", note).await;
            return Ok(());
        }
        let before = serde_json::to_value(&object).map_err(kube::Error::SerdeError)?;
        if !place_object(&mut object, None, view.of(&key.0)) {
            return Ok(());
        }
        let after = serde_json::to_value(&object).map_err(kube::Error::SerdeError)?;
        let patch = Patch::<K>::Json(json_patch::diff(&before, &after));
        let params = PatchParams {
            field_manager: Some(NAME.to_owned()),
            ..PatchParams::default()
        };
        match objects.patch(&key.1, &params, &patch).await {
            Ok(_) => {
                let kind = K::kind(&());
                info!(namespace = key.0, name = key.1, %kind, "workload placed");
                let note = "its template prefers nodes that have its images".to_owned();
                self.events.tell(&about, "Placed", note).await;
                Ok(())
            }
            // Another replica was faster, or it changed meanwhile: the watch says so.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
