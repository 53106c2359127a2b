//! A disk of images that gets full, by images of others too. Needs a cluster whose nodes have small
//! disks of their own for images: see `dev/test-image-disk`.

use std::time::{Duration, Instant};

use crate::support::agent::{NODE_NAME, Stage};
use crate::support::shelf::Image;
use airside_scenarios::wait_until;
use serde_json::{Value, json};

/// An image of this many megabytes takes twice as much, of about 560 MB that there are.
const SIZE: usize = 40;
/// Size of images for tests with many: between 3 and 4 percent of the disk each.
const SMALL: usize = 10;

/// The kubelets' removal of images: none, or as `AIRSIDE_TEST_KUBELET_GC` says.
#[derive(PartialEq)]
enum Kubelet {
    LeavesThem,
    Evicts,
    TakesTurns,
}

fn stage(wanted: Kubelet, options: &[&str]) -> Option<Stage> {
    let mut stage = Stage::offered().filter(Stage::has_own_disk)?;
    let kubelet = match std::env::var("AIRSIDE_TEST_KUBELET_GC").as_deref() {
        Ok("evicts") => Kubelet::Evicts,
        Ok("turns") => Kubelet::TakesTurns,
        _ => Kubelet::LeavesThem,
    };
    if kubelet != wanted {
        return None;
    }
    let marks = ["--high-mark=75", "--low-mark=65", "--heartbeat=2"];
    stage.start(&[&marks[..], options].concat());
    Some(stage)
}

/// Images that no set wants, until the disk is this full.
fn fill(stage: &Stage, percent: u64) -> Vec<String> {
    let mut names = Vec::new();
    while stage.disk_used() < percent {
        let image = stage
            .shelf
            .image(&format!("foreign{}:1", names.len()), SIZE);
        names.push(stage.pull_by_hand(&image));
    }
    names
}

/// Takes them away by every name; containerd gave each of them one by its id too. The kubelet may
/// be faster.
fn empty(stage: &Stage, names: &[String]) {
    let digests = names.iter().filter_map(|name| name.split_once('@'));
    let digests: Vec<&str> = digests.map(|(_, digest)| digest).collect();
    for line in stage.names() {
        let is_foreign = digests.iter().any(|digest| line.contains(digest));
        if let Some(name) = line.split_whitespace().next().filter(|_| is_foreign) {
            let _ = stage.try_ctr(&["images", "remove", "--sync", name]);
        }
    }
}

fn state(stage: &Stage, image: &Image) -> String {
    stage.told(image)["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn above_the_high_mark_the_oldest_of_ours_go_and_come_back_where_there_is_room() {
    let Some(mut stage) = stage(Kubelet::LeavesThem, &[]) else {
        return;
    };
    let images = ["a:1", "b:1", "c:1"].map(|name| stage.shelf.image(name, SIZE));
    for (number, image) in images.iter().enumerate() {
        stage.set(&format!("set{number}"), &[image], json!({}));
        stage.wait_for_state(image, "present");
    }
    let foreign = fill(&stage, 80);
    wait_until("enough of ours went", || stage.disk_used() <= 65);
    wait_until("the oldest went", || state(&stage, &images[0]) == "pending");
    assert_eq!(state(&stage, &images[2]), "present", "the youngest stays");
    let told = stage.told(&images[0]);
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("removed to make room"),
        "{told}"
    );
    let present = images
        .iter()
        .filter(|image| state(&stage, image) == "present")
        .count();
    stage.wait_for_labels(present, "=present");
    let names = stage.names();
    for name in &foreign {
        assert!(
            names.iter().any(|line| line.starts_with(name)),
            "{name} is not ours"
        );
    }
    // The next agent knows of it too, and pulls nothing that would have to go again.
    stage.kill_9();
    let beat = stage.status()["heartbeat"].clone();
    stage.start_again();
    wait_until("the next agent told something", || {
        stage.status()["heartbeat"] != beat
    });
    let told = stage.told(&images[0]);
    assert_eq!(
        (&told["state"], &told["collected"]),
        (&json!("pending"), &json!(true)),
        "{told}"
    );
    assert_eq!(stage.shelf.fetched(&images[0].layer), 1);
    empty(&stage, &foreign);
    for image in &images {
        stage.wait_for_state(image, "present");
    }
    stage.wait_for_labels(3, "=present");
}

#[test]
fn two_that_would_pass_the_mark_together_are_not_pulled_at_once() {
    let Some(stage) = stage(Kubelet::LeavesThem, &[]) else {
        return;
    };
    // Each takes more than a third of the disk.
    let (big, other) = (
        stage.shelf.image("big:1", 112),
        stage.shelf.image("other:1", 110),
    );
    stage.shelf.hold(true);
    stage.set("both", &[&big, &other], json!({}));
    stage.wait_for_state(&big, "pulling");
    assert_eq!(state(&stage, &other), "pending");
    assert_eq!(stage.shelf.waiting(), 1, "one at a time");
    stage.shelf.hold(false);
    stage.wait_for_state(&big, "present");
    wait_until("there is no room for the other", || {
        let told = stage.told(&other);
        told["message"]
            .as_str()
            .is_some_and(|words| words.starts_with("there is no room"))
    });
    assert_eq!(stage.shelf.fetched(&other.layer), 0);
    assert!(stage.disk_used() < 75, "{}", stage.disk_used());
}

#[test]
fn where_nothing_may_go_nothing_is_added_and_it_is_told_why() {
    let Some(stage) = stage(Kubelet::LeavesThem, &["--high-mark-policy=refuse"]) else {
        return;
    };
    let (first, second) = (
        stage.shelf.image("a:1", SIZE),
        stage.shelf.image("b:1", SIZE),
    );
    stage.set("one", &[&first], json!({}));
    stage.wait_for_state(&first, "present");
    let foreign = fill(&stage, 76);
    stage.set("two", &[&second], json!({}));
    wait_until("why is told", || {
        let told = stage.told(&second);
        told["message"]
            .as_str()
            .is_some_and(|words| words.starts_with("there is no room"))
    });
    let status = stage.status();
    assert!(
        status["disk"]["full"]
            .as_str()
            .unwrap()
            .contains("high mark of 75%"),
        "{status}"
    );
    assert_eq!(state(&stage, &first), "present");
    assert_eq!(stage.shelf.fetched(&second.layer), 0);
    empty(&stage, &foreign);
    stage.wait_for_state(&second, "present");
}

#[test]
fn a_kubelet_that_collects_too_leaves_no_lie() {
    let Some(stage) = stage(Kubelet::Evicts, &["--high-mark-policy=refuse"]) else {
        return;
    };
    let image = stage.shelf.image("a:1", SIZE);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_state(&image, "present");
    // Past the kubelet's threshold: it says so, our pin goes, and it takes what nothing runs from.
    fill(&stage, 88);
    wait_until("the kubelet made room", || stage.disk_used() < 70);
    // Whatever went, the label follows, and the image is there again in the end.
    wait_until("the pressure is over and the image there", || {
        stage.has(&image) && state(&stage, &image) == "present" && stage.labels().len() == 1
    });
    wait_until("it is pinned again", || {
        stage.told(&image)["pinned"] == true
    });
}

/// Returns the number of images that the kubelet has removed since it began.
fn removed_by_kubelet(stage: &Stage) -> f64 {
    let metrics = format!("/api/v1/nodes/{NODE_NAME}/proxy/metrics");
    let metrics = stage.kubectl(&["get", "--raw", &metrics]);
    let counted = metrics
        .lines()
        .filter(|line| line.starts_with("kubelet_image_garbage_collected_total"));
    counted
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// True if the node's labels agree with containerd, image for image.
fn is_true(stage: &Stage, images: &[&Image]) -> bool {
    let there = images.iter().filter(|image| stage.has(image)).count();
    let told = images
        .iter()
        .filter(|image| state(stage, image) == "present")
        .count();
    let labels = stage.labels();
    let present = labels.iter().filter(|label| label.ends_with("=present"));
    present.count() == there && told == there
}

#[test]
fn two_collectors_of_one_disk_take_nothing_that_is_pinned_or_used_and_leave_no_lie() {
    let Some(stage) = stage(Kubelet::TakesTurns, &[]) else {
        return;
    };
    let image = |name: &str| stage.shelf.image(&format!("{name}:1"), SMALL);
    let pinned = ["pinned-a", "pinned-b"].map(image);
    let loose = [1, 2, 3, 4, 5, 6, 7, 8].map(|at| image(&format!("loose-{at}")));
    let strangers: Vec<Image> = (0..14).map(|at| image(&format!("foreign-{at}"))).collect();
    let used = stage.shelf.runnable("used:1");
    stage.set("pinned", &pinned.each_ref(), json!({"priority": 10}));
    stage.set("used", &[&used], json!({"pinned": false}));
    stage.set("loose", &loose.each_ref(), json!({"pinned": false}));
    let all: Vec<&Image> = pinned.iter().chain(&loose).chain([&used]).collect();
    for image in &all {
        stage.wait_for_state(image, "present");
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"},
        "spec": {"nodeName": NODE_NAME, "terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": used.name, "imagePullPolicy": "Never", "command": ["sleep", "3600"],
        }]},
    });
    stage.apply_own("pod.json", &pod.to_string());
    stage.kubectl_own(&["wait", "--for=condition=Ready", "pod/user", "--timeout=60s"]);

    // A kubelet takes what it has known for a while, so it is made to know all of these now.
    stage.cluster.ask(&["kubelet-restart", "1"]);
    // The disk is filled and emptied again and again, so that the agent collects most of the time,
    // until the kubelet has had a turn of its own amidst that: five minutes after its start.
    let begun = Instant::now();
    let kubelets = removed_by_kubelet(&stage);
    let (mut rounds, mut ours) = (0, 0);
    while removed_by_kubelet(&stage) <= kubelets {
        assert!(
            begun.elapsed() < Duration::from_secs(660),
            "the kubelet had no turn in {rounds} rounds"
        );
        let room = 80_u64.saturating_sub(stage.disk_used()) / 3;
        let foreign: Vec<String> = strangers
            .iter()
            .zip(0..room)
            .map(|(image, _)| stage.pull_by_hand(image))
            .collect();
        wait_until("somebody made room", || stage.disk_used() <= 65);
        let gone = loose.iter().filter(|image| !stage.has(image)).count();
        empty(&stage, &foreign);
        for image in &all {
            stage.wait_for_state(image, "present");
        }
        (rounds, ours) = (rounds + 1, ours + gone);
    }
    println!(
        "{rounds} rounds, {ours} images of ours went, the kubelet removed {} in one turn",
        removed_by_kubelet(&stage) - kubelets
    );
    assert!(ours > 0, "ours collected too");
    wait_until("labels, status and containerd say the same", || {
        is_true(&stage, &all)
    });
    for image in &all {
        stage.wait_for_state(image, "present");
    }
    for image in pinned.iter().chain([&used]) {
        assert_eq!(
            stage.shelf.fetched(&image.layer),
            1,
            "{} stayed all the time",
            image.name
        );
    }
    let pod: Value =
        serde_json::from_str(&stage.kubectl_own(&["get", "pod", "user", "-o", "json"])).unwrap();
    let main = &pod["status"]["containerStatuses"][0];
    assert_eq!(
        (&main["ready"], &main["restartCount"]),
        (&json!(true), &json!(0)),
        "{main}"
    );
    let node: Value =
        serde_json::from_str(&stage.kubectl(&["get", "node", NODE_NAME, "-o", "json"])).unwrap();
    let mut conditions = node["status"]["conditions"].as_array().unwrap().iter();
    let pressure = conditions.find(|it| it["type"] == "DiskPressure").unwrap();
    assert_eq!(pressure["status"], "False", "nothing was evicted");
}
