//! The API server's side of the three kinds, in this process: lists, watches, dry runs, server-side
//! apply, statuses and preconditions. It can be away, lose its namespace or its definitions, and
//! refuse privileged tasks as a policy does. Every request of the server under test is counted.

mod objects;
mod wire;

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use serde_json::Value;
pub(crate) use wire::KubeRequest;

pub(crate) const NAMESPACE: &str = "ci-main";
pub(crate) const API: &str = "ci.airside.dev/v1alpha1";

/// How the API server fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// No request has an answer, and watches are cut.
    Away,
    /// The namespace is being deleted: its objects are gone, and no object can be made.
    NamespaceGoing,
    /// The definitions of the three kinds are gone, with all objects.
    DefinitionsGone,
}

/// The objects, and all that happened to them.
#[derive(Default)]
pub(crate) struct World {
    objects: BTreeMap<(String, String), Value>,
    /// Version, plural, type and object of each change.
    changes: Vec<(u64, String, &'static str, Value)>,
    version: u64,
    names: u64,
    mood: Mood,
    /// True if a policy refuses facts with a privileged step.
    pub(crate) refuses_privileged: bool,
    /// The words of a webhook that refuses everything.
    pub(crate) webhook: Option<String>,
    /// The user that a policy of the cluster writes into each created object.
    pub(crate) creator: Option<String>,
    requests: Vec<KubeRequest>,
    /// Number of requests that had no answer.
    pub(crate) unanswered: usize,
}

struct Shared {
    world: Mutex<World>,
    changed: Condvar,
}

/// An API server; clones are the same one.
#[derive(Clone)]
pub(crate) struct FakeCluster {
    shared: Arc<Shared>,
    pub(crate) address: SocketAddr,
}

impl FakeCluster {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let cluster = Self {
            shared: Arc::new(Shared {
                world: Mutex::default(),
                changed: Condvar::new(),
            }),
            address: listener.local_addr().unwrap(),
        };
        let shared = cluster.shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                thread::spawn(move || serve(&shared, stream));
            }
        });
        cluster
    }

    /// Changes the world, and wakes the watches.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let changed = change(&mut self.shared.world.lock().unwrap());
        self.shared.changed.notify_all();
        changed
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.with(|world| world.set_mood(mood));
    }

    /// Creates an object as a person does, and returns its name.
    pub(crate) fn create(&self, plural: &str, object: Value) -> String {
        let created = self.with(|world| world.create(plural, object, false));
        let created = created.unwrap_or_else(|refusal| panic!("refused: {refusal:?}"));
        created["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// Edits the spec of an object as a person does.
    pub(crate) fn edit(&self, plural: &str, name: &str, spec: &Value) {
        let patch = serde_json::json!({ "spec": spec });
        self.with(|world| world.merge(plural, name, &patch, false))
            .unwrap_or_else(|refusal| panic!("refused: {refusal:?}"));
    }

    /// Deletes an object as a person does.
    pub(crate) fn delete(&self, plural: &str, name: &str) {
        self.with(|world| world.remove(plural, name));
    }

    pub(crate) fn get(&self, plural: &str, name: &str) -> Option<Value> {
        let key = (plural.to_owned(), name.to_owned());
        self.with(|world| world.objects.get(&key).cloned())
    }

    pub(crate) fn list(&self, plural: &str) -> Vec<Value> {
        self.with(|world| world.list(plural))
    }

    /// Returns the answered requests of a method whose path has a part. An empty text is any.
    pub(crate) fn requests(&self, method: &str, part: &str) -> Vec<KubeRequest> {
        self.with(|world| {
            let is_it = |one: &&KubeRequest| {
                one.method.contains(method) && one.path.contains(part) && !one.watch
            };
            world.requests.iter().filter(is_it).cloned().collect()
        })
    }

    /// Returns the number of requests that changed objects of a kind.
    pub(crate) fn writes(&self, plural: &str) -> usize {
        let part = format!("/{plural}");
        let changing = ["POST", "PATCH", "DELETE"].map(|method| self.requests(method, &part));
        let stored = |one: &&KubeRequest| !one.is_dry_run();
        changing.iter().flatten().filter(stored).count()
    }

    pub(crate) fn forget_requests(&self) {
        self.with(|world| world.requests.clear());
    }
}

fn serve(shared: &Shared, mut stream: TcpStream) {
    let Some(request) = wire::read(&mut stream) else {
        return;
    };
    let mut world = shared.world.lock().unwrap();
    if world.mood == Mood::Away {
        world.unanswered += 1;
        return;
    }
    world.requests.push(request.clone());
    if request.watch {
        drop(world);
        watch(shared, &request, stream);
        return;
    }
    let answer = world.answer(&request);
    drop(world);
    shared.changed.notify_all();
    wire::write(&mut stream, answer);
}

/// Writes changes as they come, until the mood changes or the client is gone.
fn watch(shared: &Shared, request: &KubeRequest, mut stream: TcpStream) {
    let mut seen: u64 = request.query("resourceVersion").parse().unwrap_or_default();
    if !wire::begin_stream(&mut stream) {
        return;
    }
    let plural = request.place().0;
    let mut world = shared.world.lock().unwrap();
    while world.mood != Mood::Away {
        let is_last = world.mood == Mood::DefinitionsGone;
        let news = world
            .changes
            .iter()
            .filter(|(version, changed, ..)| *version > seen && *changed == plural);
        let lines: Vec<String> = news
            .map(|(_, _, type_, object)| {
                serde_json::json!({"type": type_, "object": object}).to_string() + "\n"
            })
            .collect();
        seen = world.version;
        drop(world);
        if !wire::write_part(&mut stream, &lines.concat()) || is_last {
            return;
        }
        world = shared.world.lock().unwrap();
        if world.version == seen {
            let waited = shared.changed.wait_timeout(world, Duration::from_secs(5));
            world = waited.unwrap().0;
        }
    }
}
