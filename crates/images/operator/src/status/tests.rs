use std::{collections::BTreeSet, time::Duration};

use airside_image_rules::{NodeImages, PlatformImage};
use airside_oci::Digest;
use serde_json::{Value, json};

use super::*;
use crate::monitor::{Book, KnownTag, WantedTopic};

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn set() -> ImageSet {
    serde_json::from_value(json!({
        "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
        "metadata": {"name": "s", "namespace": "n", "generation": 3},
        "spec": {"images": [{"image": "r.example/a:1"}]},
    }))
    .unwrap()
}

fn node(name: &str) -> Arc<Node> {
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "status": {"nodeInfo": {"operatingSystem": "linux", "architecture": "amd64",
                "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                "kubeletVersion": "", "machineID": "", "osImage": "", "systemUUID": ""}},
        }))
        .unwrap(),
    )
}

fn node_images(name: &str, images: &Value) -> Arc<NodeImages> {
    Arc::new(
        serde_json::from_value(json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages", "metadata": {"name": name},
            "spec": {}, "status": {"heartbeat": "2026-01-01T00:00:00Z", "images": images},
        }))
        .unwrap(),
    )
}

/// Returns the book's entry after this answer about the set's only image.
fn entry(
    topic: &Topic,
    answer: Result<Vec<KnownTag>, crate::monitor::Trouble>,
) -> Option<TopicEntry> {
    let now = Timestamp::from_second(1_000_000).unwrap();
    let mut book = Book::default();
    let want = WantedTopic {
        topic: topic.clone(),
        every: Some(Duration::from_secs(300)),
        platforms: BTreeSet::from(["linux/amd64".to_owned()]),
        seed: None,
        is_new: true,
        is_edited: false,
    };
    book.want(vec![want], now, &mut || 0.5);
    let due = book.due(now).remove(0);
    book.answered(&due, answer, now, &mut || 0.5);
    book.get(topic).cloned()
}

fn known() -> KnownTag {
    KnownTag {
        image: "r.example/a:1".parse().unwrap(),
        digest: Digest::parse(DIGEST).unwrap(),
        platforms: BTreeMap::from([("linux/amd64".to_owned(), PlatformImage::default())]),
        asked_for: BTreeSet::from(["linux/amd64".to_owned()]),
        mark: None,
        moved: None,
    }
}

fn look(
    set: &ImageSet,
    moment: &ClusterSnapshot,
    answer: &Result<Vec<KnownTag>, crate::monitor::Trouble>,
) -> ImageSetStatus {
    let clock = Instant::now();
    let mut agents = Agents::new(Duration::from_secs(90));
    agents.observe(moment, clock);
    let view = StatusInput {
        moment,
        agents: &agents,
        entry: &|topic| entry(topic, answer.clone()),
        now: Timestamp::from_second(2_000_000).unwrap(),
        clock,
    };
    status(set, &view)
}

fn moment(images: &[(&str, Value)]) -> ClusterSnapshot {
    ClusterSnapshot {
        sets: vec![],
        nodes: vec![node("n1"), node("n2")],
        node_images: images
            .iter()
            .map(|(name, images)| ((*name).to_owned(), node_images(name, images)))
            .collect(),
    }
}

fn ready_of(status: &ImageSetStatus) -> (String, String, String) {
    let found = status
        .conditions
        .iter()
        .find(|it| it.type_ == "Ready")
        .unwrap();
    (
        found.status.clone(),
        found.reason.clone(),
        found.message.clone(),
    )
}

#[test]
fn ready_says_what_is_missing() {
    let on = |state: &str| json!([{"image": "r.example/a:1", "digest": DIGEST, "state": state, "message": "no room"}]);
    let found = Ok(vec![known()]);
    let trouble = Err(crate::monitor::Trouble {
        state: TagState::Error,
        words: "it is down".to_owned(),
        retry_after: None,
    });
    for (one, two, answer, expected) in [
        (
            Some(on("present")),
            Some(on("present")),
            &found,
            ("True", "AllPresent", "1 image on 2 nodes"),
        ),
        (
            Some(on("present")),
            Some(on("pulling")),
            &found,
            ("False", "Pulling", "1 of 2 images are present"),
        ),
        (
            Some(on("present")),
            Some(json!([])),
            &found,
            ("False", "Waiting", "1 of 2 images are present"),
        ),
        (
            Some(on("present")),
            Some(on("error")),
            &found,
            (
                "False",
                "PullError",
                "1 of 2 images are present; r.example/a:1 on n2: no room",
            ),
        ),
        (
            Some(on("present")),
            None,
            &found,
            (
                "False",
                "NoAgent",
                "1 of 2 images are present; no report from the agent on n2",
            ),
        ),
        (
            Some(json!([])),
            Some(json!([])),
            &trouble,
            (
                "False",
                "NotResolved",
                "0 of 2 images are present; not resolved yet: r.example/a:1",
            ),
        ),
    ] {
        let listed = [("n1", one), ("n2", two)];
        let listed: Vec<_> = listed
            .into_iter()
            .filter_map(|(name, images)| Some((name, images?)))
            .collect();
        let status = look(&set(), &moment(&listed), answer);
        let (state, reason, message) = ready_of(&status);
        assert_eq!(
            (state.as_str(), reason.as_str(), message.as_str()),
            expected
        );
    }
    let nobody = ClusterSnapshot {
        nodes: vec![],
        ..moment(&[])
    };
    assert_eq!(ready_of(&look(&set(), &nobody, &found)).1, "NoNodes");
}

#[test]
fn an_image_of_before_does_not_count() {
    let old = json!([{"image": "r.example/a:1", "digest": "sha256:old", "state": "present"}]);
    let status = look(&set(), &moment(&[("n1", old)]), &Ok(vec![known()]));
    assert_eq!(status.counts.present, "0/2");
}

#[test]
fn what_did_not_change_is_not_written() {
    let mut set = set();
    let moment = moment(&[]);
    let first = look(&set, &moment, &Ok(vec![known()]));
    assert!(is_worth_writing(None, &first));
    set.status = Some(first.clone());
    let mut second = look(&set, &moment, &Ok(vec![known()]));
    assert!(!is_worth_writing(Some(&first), &second));
    second.images[0].checked = Some(Time(Timestamp::from_second(1_000_100).unwrap()));
    assert!(
        !is_worth_writing(Some(&first), &second),
        "asked again before it was said"
    );
    second.images[0].checked = Some(Time(Timestamp::from_second(1_000_400).unwrap()));
    assert!(
        is_worth_writing(Some(&first), &second),
        "what was said of the next time is over"
    );
}

#[test]
fn a_bad_entry_is_told_by_its_name() {
    let mut set = set();
    set.spec.images[0].image = Some("NO SUCH".to_owned());
    let status = look(&set, &moment(&[]), &Ok(vec![]));
    assert_eq!(
        (status.images[0].image.as_str(), status.images[0].state),
        ("NO SUCH", TagState::Error)
    );
    assert!(status.images[0].message.contains("does not name an image"));
}
