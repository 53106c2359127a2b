//! Logs on a real disk: order, durability across epochs, following.

use airside_logs::{Entry, Logs};
use airside_model::{
    BuildId, PlanId,
    event::{Event, Origin},
};
use futures::StreamExt;

fn line(text: &str) -> Event {
    Event::Log {
        time: 1,
        origin: Origin::step(&PlanId::new("1")),
        payload: text.to_owned(),
    }
}

async fn read(logs: &Logs, from: u64) -> Vec<Entry> {
    logs.follow(BuildId(1), from)
        .map(|entry| entry.expect("the log can be read"))
        .collect()
        .await
}

fn payloads(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| {
            let value: serde_json::Value =
                serde_json::from_str(&entry.envelope).expect("an envelope is JSON");
            assert_eq!(value["event_id"], entry.id.to_string());
            value["data"]["payload"]
                .as_str()
                .expect("output has a payload")
                .to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_follower_that_came_first_sees_everything() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let early = tokio::spawn({
        let logs = logs.clone();
        async move { read(&logs, 0).await }
    });
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    for (position, text) in ["a", "b", "c"].into_iter().enumerate() {
        writer
            .append("1", position as u64 + 1, line(text))
            .await
            .unwrap();
    }
    writer.close().await.unwrap();
    assert_eq!(payloads(&early.await.unwrap()), ["a", "b", "c"]);
    assert_eq!(payloads(&read(&logs, 1).await), ["b", "c"]);
    let reopened = Logs::open(folder.path()).unwrap();
    assert_eq!(payloads(&read(&reopened, 0).await), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_new_epoch_goes_on_where_the_old_one_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let first = logs.writer(BuildId(1), 1).await.unwrap();
    first.append("1", 5, line("hello")).await.unwrap();

    let after_crash = Logs::open(folder.path()).unwrap();
    let second = after_crash.writer(BuildId(1), 2).await.unwrap();
    assert_eq!(second.position("1"), 5);
    second.append("1", 5, line("hello")).await.unwrap();
    second.append("1", 11, line(" world")).await.unwrap();
    // What the old server still writes is not seen by anybody.
    first.append("1", 9, line("stale")).await.unwrap();
    second.close().await.unwrap();
    assert_eq!(payloads(&read(&after_crash, 0).await), ["hello", " world"]);
}

#[tokio::test]
async fn a_torn_record_ends_its_segment_only() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    writer.append("1", 1, line("kept")).await.unwrap();
    writer.append("1", 2, line("torn")).await.unwrap();
    let segment = std::fs::read_dir(folder.path().join("1"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let bytes = std::fs::read(&segment).unwrap();
    std::fs::write(&segment, &bytes[..bytes.len() - 3]).unwrap();

    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 2).await.unwrap();
    assert_eq!(writer.position("1"), 1);
    writer.append("1", 2, line("again")).await.unwrap();
    writer.close().await.unwrap();
    assert_eq!(payloads(&read(&logs, 0).await), ["kept", "again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_logs_roll_over_segments_while_they_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    let follower = tokio::spawn({
        let logs = logs.clone();
        async move { read(&logs, 0).await }
    });
    let text = "x".repeat(60_000);
    for index in 0..200 {
        writer
            .append("1", index + 1, line(&format!("{index} {text}")))
            .await
            .unwrap();
    }
    writer.close().await.unwrap();
    let seen = payloads(&follower.await.unwrap());
    assert_eq!(seen.len(), 200);
    for (index, payload) in seen.iter().enumerate() {
        assert!(payload.starts_with(&format!("{index} ")));
    }
    logs.remove(BuildId(1)).await.unwrap();
    assert!(!folder.path().join("1").exists());
}
