use futures::{FutureExt, StreamExt};
use kube::runtime::watcher::Event;
use serde_json::json;

use super::*;

fn pod(name: &str, state: serde_json::Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"nodeName": "node1", "containers": [{"name": "step"}]},
        "status": {"containerStatuses": [{"name": "step", "ready": true, "restartCount": 0,
            "image": "", "imageID": "", "state": state}]},
    }))
    .unwrap()
}

fn running(name: &str) -> Pod {
    pod(name, json!({"running": {}}))
}

fn waiting(name: &str) -> Pod {
    pod(name, json!({"waiting": {"reason": "ContainerCreating"}}))
}

fn ended(name: &str) -> Pod {
    pod(name, json!({"terminated": {"exitCode": 3}}))
}

fn take(watched: &Watched, events: impl IntoIterator<Item = Event<Pod>>) {
    let mut listed = HashSet::new();
    for event in events {
        watched.take(event, &mut listed);
    }
}

/// Everything that is ready now, sorted, in short.
fn heard(stream: &mut BoxStream<'static, Observation>) -> Vec<String> {
    let mut heard = Vec::new();
    while let Some(Some(Observation { handle, observed })) = stream.next().now_or_never() {
        heard.push(match observed {
            Observed::Pending { reason, .. } if reason.is_empty() => format!("{handle} pending"),
            Observed::Pending { reason, .. } => format!("{handle} pending: {reason}"),
            Observed::Doomed { reason, .. } => format!("{handle} doomed {reason}"),
            Observed::Started { .. } => format!("{handle} started"),
            Observed::Leaving { reason, .. } => format!("{handle} leaving: {reason}"),
            Observed::Silent { reason, .. } => format!("{handle} silent {reason}"),
            Observed::Gone { reason, .. } => format!("{handle} gone: {reason}"),
        });
    }
    heard.sort();
    heard
}

#[test]
fn observers_hear_what_is_there_and_then_changes() {
    let watched = Watched::new();
    take(
        &watched,
        [Event::Init, Event::InitApply(waiting("a")), Event::InitDone],
    );
    let mut first = watched.observe();
    assert_eq!(heard(&mut first), ["a pending"]);
    take(
        &watched,
        [Event::Apply(waiting("a")), Event::Apply(running("a"))],
    );
    assert_eq!(heard(&mut first), ["a started"]);
    assert_eq!(heard(&mut watched.observe()), ["a started"]);
}

#[test]
fn an_end_is_told_once_with_the_best_reason() {
    let watched = Watched::new();
    let mut stream = watched.observe();
    take(
        &watched,
        [Event::Apply(running("a")), Event::Apply(ended("a"))],
    );
    assert_eq!(
        heard(&mut stream),
        ["a gone: the container exited with code 3", "a started"]
    );
    take(&watched, [Event::Delete(ended("a"))]);
    assert!(heard(&mut stream).is_empty());

    take(
        &watched,
        [Event::Apply(running("b")), Event::Delete(ended("b"))],
    );
    assert_eq!(
        heard(&mut stream),
        ["b gone: the container exited with code 3", "b started"]
    );
    take(
        &watched,
        [Event::Apply(running("c")), Event::Delete(running("c"))],
    );
    assert_eq!(
        heard(&mut stream),
        ["c gone: the pod was deleted", "c started"]
    );
    assert!(watched.states.lock().is_empty());
}

#[test]
fn a_new_list_tells_what_went_meanwhile() {
    let watched = Watched::new();
    take(
        &watched,
        [Event::Apply(running("a")), Event::Apply(running("b"))],
    );
    let mut stream = watched.observe();
    heard(&mut stream);
    let list = [Event::Init, Event::InitApply(running("b")), Event::InitDone];
    take(&watched, list);
    assert_eq!(heard(&mut stream), ["a gone: the pod was deleted"]);
}

#[test]
fn who_falls_behind_is_brought_up_to_date() {
    let watched = Watched::new();
    take(
        &watched,
        [Event::Apply(running("a")), Event::Apply(waiting("b"))],
    );
    let mut stream = watched.observe();
    heard(&mut stream);
    take(
        &watched,
        [Event::Delete(running("a")), Event::Apply(running("b"))],
    );
    for _ in 0..BACKLOG {
        take(
            &watched,
            [Event::Apply(waiting("c")), Event::Apply(running("c"))],
        );
    }
    assert_eq!(
        heard(&mut stream),
        ["a gone: the pod was deleted", "b started", "c started"]
    );
    assert!(heard(&mut stream).is_empty());
}

#[test]
fn observers_end_with_the_watch() {
    let watched = Watched::new();
    let mut stream = watched.observe();
    drop(watched);
    assert_eq!(stream.next().now_or_never(), Some(None));
}

#[test]
fn no_more_pods_than_allowed_and_those_there_are_let_through() {
    let watched = Watched::new();
    let [a, b, c] = ["a", "b", "c"].map(Handle::new);
    let full = |handle: &Handle| watched.reserve(handle, Some(2)).err();
    assert_eq!(full(&a), Some(Full::Uncounted));
    assert!(
        watched.reserve(&a, None).is_ok(),
        "nobody counts without a limit"
    );
    take(
        &watched,
        [Event::Init, Event::InitApply(running("a")), Event::InitDone],
    );
    assert_eq!(full(&a), None, "it is there already");

    let coming = watched.reserve(&b, Some(2)).unwrap();
    assert_eq!(full(&c), Some(Full::Full(2)));
    assert_eq!(full(&b), None, "asked again");
    drop(coming);
    assert_eq!(full(&c), None, "what failed gives its room back");

    watched.reserve(&b, Some(2)).unwrap().keep();
    assert_eq!(full(&c), Some(Full::Full(2)), "made, not seen yet");
    take(&watched, [Event::Apply(waiting("b"))]);
    assert_eq!(full(&c), Some(Full::Full(2)), "seen, counted once");
    take(&watched, [Event::Apply(ended("b"))]);
    assert_eq!(full(&c), None, "what has ended takes no room");
}

#[test]
fn a_pod_that_was_taken_away_keeps_the_reason_when_it_is_gone() {
    let watched = Watched::new();
    let mut stream = watched.observe();
    let mut leaving = running("a");
    let status = leaving.status.as_mut().unwrap();
    status.conditions = serde_json::from_value(json!([
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ]))
    .unwrap();
    take(
        &watched,
        [Event::Apply(leaving.clone()), Event::Delete(leaving)],
    );
    let why = "the pod was preempted by one of a higher priority";
    assert_eq!(
        heard(&mut stream),
        [format!("a gone: {why}"), format!("a leaving: {why}")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_no_scheduler_looks_at_is_no_silence() {
    let watched = Watched::new();
    let mut stream = watched.observe();
    let new = |name: &str| -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name}, "spec": {"containers": [{"name": "step"}]}, "status": {"phase": "Pending"},
        }))
        .unwrap()
    };
    take(
        &watched,
        [
            Event::Apply(new("a")),
            Event::Apply(new("b")),
            Event::Apply(waiting("b")),
        ],
    );
    heard(&mut stream);
    watched.publish_late(Instant::now());
    assert!(heard(&mut stream).is_empty(), "it is early");
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    take(&watched, [Event::Apply(running("b"))]);
    watched.publish_late(Instant::now());
    assert_eq!(
        heard(&mut stream),
        [
            "a pending: no node takes the pod yet: no scheduler has looked at the pod for 10 s",
            "b started"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_container_that_is_created_for_long_is_no_silence() {
    let second = std::time::Duration::from_secs(1);
    let watched = Watched::new();
    let mut stream = watched.observe();
    take(&watched, [Event::Apply(waiting("a"))]);
    assert_eq!(heard(&mut stream), ["a pending"]);
    tokio::time::advance(4 * second).await;
    take(&watched, [Event::Apply(waiting("a"))]);
    watched.publish_late(Instant::now());
    assert!(heard(&mut stream).is_empty(), "most are ready by then");
    tokio::time::advance(2 * second).await;
    watched.publish_late(Instant::now());
    let words = "a pending: the container is being created on node node1";
    assert_eq!(heard(&mut stream), [words]);
    // The pod changes and is still being created: there is nothing new.
    take(&watched, [Event::Apply(waiting("a"))]);
    watched.publish_late(Instant::now());
    assert!(heard(&mut stream).is_empty());
    assert_eq!(heard(&mut watched.observe()), [words]);
    take(
        &watched,
        [Event::Apply(running("a")), Event::Delete(running("a"))],
    );
    assert_eq!(
        heard(&mut stream),
        ["a gone: the pod was deleted", "a started"]
    );
    watched
        .late
        .retain(|_| panic!("a pod that is gone is known"));
}
