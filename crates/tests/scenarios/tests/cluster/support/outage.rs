//! Parts of a cluster that are away for a while, and builds that take longer for it.

use std::time::{Duration, Instant};

use airside_scenarios::{Counter, Fly, WAIT_TIMEOUT, wait_for};

use super::{Cluster, Namespace, one_task, printed};

/// A step counts as lost soon after its node does not answer any more.
pub(crate) const QUICK: &str = "  lost_after_seconds: 5\n";

/// A build of one task that ran once undisturbed, and runs again, held in its middle.
pub(crate) struct HeldBuild {
    pub(crate) id: i64,
    counter: Counter,
    undisturbed: String,
}

impl HeldBuild {
    pub(crate) fn begin(namespace: &Namespace, fly: &Fly) -> Self {
        let counter = Counter::start_at(namespace.host);
        let script = format!(
            "echo before; {}; seq 1 300; {}",
            counter.bump("middle"),
            counter.bump("end")
        );
        fly.pipeline("p", &one_task(&script));
        let undisturbed = printed(&fly.watch(fly.trigger("p/build").id).succeeded());
        counter.hold("middle");
        let id = fly.trigger("p/build").id;
        counter.wait("middle", 2);
        Self {
            id,
            counter,
            undisturbed,
        }
    }

    pub(crate) fn release(&self) {
        self.counter.release("middle");
    }

    pub(crate) fn wait_for_its_end(&self) {
        self.counter.wait("end", 2);
    }

    /// Checks that the build printed what it prints undisturbed, and that nothing ran twice.
    pub(crate) fn was_not_disturbed(&self, fly: &Fly) {
        assert_eq!(printed(&fly.watch(self.id).succeeded()), self.undisturbed);
        let counts = ["middle", "end"].map(|name| self.counter.count(name));
        assert_eq!(counts, [2, 2]);
    }
}

/// The API server is away for as long as this lives.
pub(crate) struct ApiAway(Cluster);

impl ApiAway {
    pub(crate) fn begin(cluster: &Cluster) -> Self {
        cluster.ask(&["api-stop"]);
        Self(cluster.clone())
    }
}

impl Drop for ApiAway {
    /// Controllers notice late that the API server is back; the next test needs them.
    fn drop(&mut self) {
        let cluster = &self.0;
        cluster.ask(&["api-start"]);
        let probe = format!("probe-{:08x}", rand::random::<u32>());
        cluster.ask(&["kubectl", "create", "namespace", &probe]);
        let account = [
            "wait",
            "--for=create",
            "serviceaccount/default",
            "--timeout=180s",
        ];
        cluster.ask(&[&["kubectl", "-n", &probe][..], &account].concat());
        cluster.ask(&["kubectl", "delete", "namespace", &probe, "--wait=false"]);
    }
}

/// A node without power for as long as this lives.
pub(crate) struct NodeAway {
    cluster: Cluster,
    number: String,
}

impl NodeAway {
    pub(crate) fn begin(cluster: &Cluster, node: &str) -> Self {
        let number = number(node);
        cluster.ask(&["node-stop", &number]);
        let cluster = cluster.clone();
        Self { cluster, number }
    }
}

impl Drop for NodeAway {
    fn drop(&mut self) {
        self.cluster.ask(&["node-start", &self.number]);
    }
}

/// Drops the packets of pods to a port of this machine until it is dropped itself.
pub(crate) struct Cut {
    cluster: Cluster,
    port: String,
}

impl Cut {
    pub(crate) fn begin(cluster: &Cluster, port: u16) -> Self {
        let port = port.to_string();
        cluster.ask(&["cut", &port]);
        let cluster = cluster.clone();
        Self { cluster, port }
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.cluster.ask(&["mend", &self.port]);
    }
}

/// A node as `dev/cluster` counts it.
pub(crate) fn number(node: &str) -> String {
    node.trim_start_matches('n').to_owned()
}

/// Lets time pass, which is what an outage is made of.
pub(crate) fn last(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

/// Waits longer than usual: an outage takes its time to be noticed.
#[track_caller]
pub(crate) fn wait_long(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + 4 * WAIT_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "waited long in vain: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The end of a build that takes longer than the usual patience.
#[track_caller]
pub(crate) fn wait_for_end(fly: &Fly, build: i64) -> String {
    let mut status = String::new();
    wait_long(&format!("build {build} ends"), || {
        status = fly.status(build);
        !matches!(status.as_str(), "pending" | "started")
    });
    status
}

/// The node of the one pod that does this kind of work.
#[track_caller]
pub(crate) fn node_of_a(namespace: &Namespace, kind: &str) -> String {
    let selector = format!("airside.dev/kind={kind}");
    let nodes = "jsonpath={.items[*].spec.nodeName}";
    wait_for("the pod's node", || {
        let node = namespace.kubectl(&["get", "pods", "-l", &selector, "-o", nodes]);
        (!node.is_empty()).then_some(node)
    })
}
