//! Watches that keep the view current: sets, and the labels of nodes.
//!
//! Only the metadata of nodes is watched, and only our labels of it are kept: the scheduler decides
//! by them, and the operator removes those of dead agents.

use std::{collections::BTreeSet, sync::Arc};

use airside_image_rules::{
    ImageSet,
    label::{self, Presence},
};
use airside_model::chain;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream::BoxStream};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Resource,
    core::PartialObjectMeta,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event},
    },
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{View, kept::ObjectCache, view::Counts};

/// The current view; none until every list was received once.
pub(crate) type ViewReceiver = watch::Receiver<Option<Arc<View>>>;

enum News {
    Set(Box<Event<ImageSet>>),
    Node(Box<Event<PartialObjectMeta<Node>>>),
}

#[derive(Default)]
struct Picture {
    sets: ObjectCache<Arc<ImageSet>>,
    nodes: ObjectCache<BTreeSet<String>>,
}

/// Watches until the shutdown, and says what it sees.
pub(crate) fn start(client: Client, home: String, shutdown: CancellationToken) -> ViewReceiver {
    let (say, seen) = watch::channel(None);
    let until = shutdown.clone();
    airside_tasks::supervise("watch of image sets", &shutdown, move || {
        let (client, home, say) = (client.clone(), home.clone(), say.clone());
        let until = until.clone();
        async move {
            tokio::select! {
                () = until.cancelled() => {}
                () = follow(client, &home, &say) => {}
            }
        }
    });
    seen
}

async fn follow(client: Client, home: &str, say: &watch::Sender<Option<Arc<View>>>) {
    let sets: Api<ImageSet> = Api::all(client.clone());
    let nodes: Api<PartialObjectMeta<Node>> = Api::all(client);
    let sets = kube::runtime::watcher(sets, watcher::Config::default());
    let nodes = kube::runtime::watcher(nodes, watcher::Config::default());
    let news = futures::stream::select(
        patient(sets, "image sets").map(|event| News::Set(Box::new(event))),
        patient(nodes, "nodes").map(|event| News::Node(Box::new(event))),
    );
    // What comes at once is looked at at once.
    let mut news = news.ready_chunks(256);
    let mut picture = Picture::default();
    while let Some(chunk) = news.next().await {
        let mut is_other = false;
        for news in chunk {
            is_other |= picture.take(news);
        }
        if !is_other || !picture.is_whole() {
            continue;
        }
        let is_first = say.borrow().is_none();
        let view = picture.view(home);
        if is_first {
            info!("image sets and nodes listed");
        }
        say.send_replace(Some(Arc::new(view)));
    }
}

impl Picture {
    fn take(&mut self, news: News) -> bool {
        match news {
            News::Set(event) => self.sets.take(*event, |mut set| {
                set.metadata.managed_fields = None;
                Arc::new(set)
            }),
            News::Node(event) => self.nodes.take(*event, |node| {
                let labels = node.metadata.labels.unwrap_or_default();
                let present = Presence::Present.value();
                labels
                    .into_iter()
                    .filter(|(key, value)| label::is_ours(key) && value == present)
                    .map(|(key, _)| key)
                    .collect()
            }),
        }
    }

    fn is_whole(&self) -> bool {
        self.sets.is_whole() && self.nodes.is_whole()
    }

    fn view(&self, home: &str) -> View {
        let mut counts = Counts::new();
        for label in self.nodes.values().flatten() {
            *counts.entry(label.clone()).or_default() += 1;
        }
        View::new(self.sets.values().map(AsRef::as_ref), home, &counts)
    }
}

/// Waits for a time; for ever if there is none.
pub(crate) async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => futures::future::pending().await,
    }
}

/// A watch that is logged and tried again when it fails.
pub(crate) fn patient<K>(
    stream: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    what: &'static str,
) -> BoxStream<'static, Event<K>>
where
    K: Resource + Send + 'static,
{
    stream
        .default_backoff()
        .inspect_err(move |error| {
            warn!(
                error = %chain(error),
                what,
                "watch of image sets or nodes interrupted"
            );
        })
        .filter_map(|event| futures::future::ready(event.ok()))
        .boxed()
}
