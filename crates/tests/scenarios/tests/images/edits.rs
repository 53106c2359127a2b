//! Whatever of a set is edited counts at once, on two nodes with agents as pods; so does what is
//! changed of nodes. Pull secrets are edited in `operator`, failures before an error in
//! `agent_faults`, priorities in `agent_order`, placement in `admission`.

use crate::support::installed::Installed;
use crate::support::operator;
use airside_scenarios::wait_until;
use serde_json::{Value, json};

impl Installed {
    /// Checks which of the two nodes the set is on, once the set is ready there.
    fn is_on(&self, nodes: [bool; 2]) {
        wait_until(&format!("it is on {nodes:?}"), || {
            let there =
                ["n1", "n2"].map(|node| (self.labels(node).len(), self.names(node).is_empty()));
            there == nodes.map(|is_there| (usize::from(is_there), !is_there))
        });
    }

    fn pinned(&self, node: &str) -> Value {
        self.listed(node)
            .first()
            .map(|it| it["pinned"].clone())
            .unwrap_or_default()
    }
}

#[test]
fn which_nodes_are_meant_may_be_edited() {
    let Some(all) = Installed::offered(&[]) else {
        return;
    };
    let stage = &all.stage;
    let with = |more: Value| {
        let mut spec = json!({"images": [{"image": all.image("1")}]});
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        all.apply(&spec);
    };
    let hostname = |operator: &str| json!([{"key": "kubernetes.io/hostname", "operator": operator, "values": ["n1"]}]);
    with(json!({"nodes": {"matchLabels": {"images-test": "here"}}}));
    wait_until("no node is meant", || all.ready().1 == "NoNodes");
    // A node that comes to be meant, as a new one does, begins at once.
    stage.kubectl(&["label", "node", "n2", "images-test=here", "--overwrite"]);
    all.is_on([false, true]);
    all.wait_until_ready();
    stage.kubectl(&["label", "node", "n2", "images-test-"]);
    all.is_on([false, false]);
    with(json!({"nodes": {"matchExpressions": hostname("In")}}));
    all.is_on([true, false]);
    with(json!({"nodes": {"matchExpressions": hostname("NotIn")}}));
    all.is_on([false, true]);
    with(json!({}));
    all.is_on([true, true]);
    with(json!({"platforms": ["linux/arm64"]}));
    all.is_on([false, false]);
    assert_eq!(all.ready().1, "NoNodes");
    with(json!({"platforms": ["linux/amd64", "linux/arm64"]}));
    all.is_on([true, true]);

    // Taints are of nodes; agents tolerate them all.
    let taint = Taint::on(stage, "n1");
    all.is_on([false, true]);
    with(json!({"nodes": {"tolerations": [{"key": "images-test", "operator": "Exists"}]}}));
    all.is_on([true, true]);
    with(json!({}));
    all.is_on([false, true]);
    drop(taint);
    all.is_on([true, true]);
}

#[test]
fn which_images_are_meant_and_how_they_are_kept_may_be_edited() {
    let Some(all) = Installed::offered(&[]) else {
        return;
    };
    let nodes = json!({"matchLabels": {"kubernetes.io/hostname": "n1"}});
    let with = |images: Value, more: Value| {
        let mut spec = json!({"images": images, "nodes": nodes, "checkEvery": "never"});
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        all.apply(&spec);
    };
    let image = json!([{"image": all.image("1")}]);
    with(image.clone(), json!({}));
    all.wait_until_ready();
    let first = all.labels("n1");
    assert_eq!((first.len(), all.pinned("n1")), (1, json!(true)));

    with(image.clone(), json!({"pinned": false}));
    wait_until("it is not pinned any more", || all.pinned("n1") == false);
    with(image.clone(), json!({"pinned": true}));
    wait_until("it is pinned again", || all.pinned("n1") == true);
    assert_eq!(all.labels("n1"), first, "it was there all the time");

    // Asked once and never again, until the set says otherwise.
    all.registry.control(&json!({"move": "org/group/app:1"}));
    let digest = all.registry.digest("org/group/app", "1");
    let asked = all.registry.count("heads");
    with(image, json!({"checkEvery": "5s"}));
    all.stage.images("app", "the move is seen", |it| {
        it[0]["digest"] == json!(digest)
    });
    assert!(all.registry.count("heads") > asked);
    wait_until("the node has the new content", || {
        let now = all.labels("n1");
        now.len() == 1 && now != first
    });
    let by_tag = all.labels("n1");

    // The same content by its digest, and by a rule for tags.
    let by_digest = all.registry.image(&format!("org/group/app@{digest}"));
    with(json!([{"image": by_digest}]), json!({}));
    all.stage.images("app", "the digest is found", |it| {
        it.len() == 1 && it[0]["state"] == "found" && it[0]["image"] == json!(by_digest)
    });
    wait_until("it is there by its digest", || {
        all.ready().0 == "True"
            && all
                .listed("n1")
                .first()
                .is_some_and(|it| it["image"] == json!(by_digest))
    });
    assert_eq!(all.labels("n1"), by_tag, "one content has one label");
    all.registry
        .control(&json!({"tags": {"org/group/app": ["2.0.0", "2.1.0", "3.0.0"]}}));
    let repository = all.registry.image("org/group/app");
    let rule = |semver: &str, keep: u32| json!([{"repository": repository, "semver": semver, "keep": keep}]);
    with(rule("^2", 2), json!({}));
    let names = |images: &[Value]| -> Vec<String> {
        let tag = |image: &Value| {
            image["image"]
                .as_str()
                .unwrap()
                .rsplit(':')
                .next()
                .unwrap()
                .to_owned()
        };
        images.iter().map(tag).collect()
    };
    wait_until("both are there", || {
        names(&all.listed("n1")) == ["2.0.0", "2.1.0"] && all.labels("n1").len() == 2
    });
    with(rule(">=3", 1), json!({}));
    wait_until("only the other is", || {
        names(&all.listed("n1")) == ["3.0.0"] && all.labels("n1").len() == 1
    });
}

/// A taint that stays on a node until it is dropped.
struct Taint<'a>(&'a operator::Stage, &'a str);

impl<'a> Taint<'a> {
    fn on(stage: &'a operator::Stage, node: &'a str) -> Self {
        stage.kubectl(&["taint", "node", node, "images-test=x:NoSchedule"]);
        Self(stage, node)
    }
}

impl Drop for Taint<'_> {
    fn drop(&mut self) {
        let _ = self
            .0
            .try_kubectl(&["taint", "node", self.1, "images-test-"]);
    }
}
