//! Logs on a real disk: order, durability across epochs, following.

use airside_logs::{LogEntry, Logs};
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

async fn read(logs: &Logs, from: u64) -> Vec<LogEntry> {
    logs.follow(BuildId(1), from)
        .map(|entry| entry.expect("the log can be read"))
        .collect()
        .await
}

fn payloads(entries: &[LogEntry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| {
            let value: serde_json::Value =
                serde_json::from_str(entry.envelope.as_str()).expect("an envelope is JSON");
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
    // Entries that the old server still writes are not seen by any follower.
    first.append("1", 9, line("stale")).await.unwrap();
    second.close().await.unwrap();
    assert_eq!(payloads(&read(&after_crash, 0).await), ["hello", " world"]);
}

#[tokio::test]
async fn a_log_knows_its_size_whoever_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    assert_eq!(writer.bytes(), 0);
    let text = "x".repeat(10_000);
    writer.append("1", 1, line(&text)).await.unwrap();
    let one = writer.bytes();
    assert!((10_000..11_000).contains(&one), "{one}");
    writer.append("1", 2, line(&text)).await.unwrap();
    assert_eq!(writer.bytes(), 2 * one);
    let next = logs.writer(BuildId(1), 2).await.unwrap();
    assert_eq!(next.bytes(), 2 * one);
    next.close().await.unwrap();
    logs.at_rest().await;
    let compressed = Logs::open(folder.path()).unwrap();
    let again = compressed.writer(BuildId(1), 3).await.unwrap();
    assert_eq!(again.bytes(), 2 * one);
}

#[tokio::test]
async fn a_torn_record_ends_its_segment_only() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    writer.append("1", 1, line("kept")).await.unwrap();
    writer.append("1", 2, line("torn")).await.unwrap();
    let segment = folder.path().join("1/000000000000-000001.log");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_removed_while_its_segments_are_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let text = "w".repeat(2 << 20);
    for round in 1..=40 {
        let build = BuildId(round);
        let writer = logs.writer(build, 1).await.unwrap();
        for index in 0..6 {
            writer.append("1", index + 1, line(&text)).await.unwrap();
        }
        writer.close().await.unwrap();
        logs.remove(build).await.unwrap();
    }
    assert_eq!(logs.list().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_that_keep_up_and_those_that_come_late_see_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    let mut early = logs.follow(BuildId(1), 0);
    let mut seen = Vec::new();
    for index in 0..40_u64 {
        let text = "y".repeat(60_000 * (index as usize % 3) + 10);
        let written = writer.append("1", index + 1, line(&format!("{index} {text}")));
        written.await.unwrap();
        if index % 7 != 3 {
            seen.push(early.next().await.unwrap().unwrap());
        }
    }
    let late = tokio::spawn({
        let logs = logs.clone();
        async move { read(&logs, 0).await }
    });
    writer.close().await.unwrap();
    while let Some(entry) = early.next().await {
        seen.push(entry.unwrap());
    }
    assert_eq!(payloads(&seen).len(), 40);
    assert_eq!(seen, late.await.unwrap());
    assert_eq!(seen[12..], read(&logs, 12).await);
}

fn files(folder: &std::path::Path, extension: &str) -> usize {
    let files = std::fs::read_dir(folder.join("1")).expect("the log has a folder");
    files
        .filter(|file| {
            let path = file.as_ref().expect("the folder can be listed").path();
            path.extension().is_some_and(|found| found == extension)
        })
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_are_compressed_at_the_end_and_those_of_a_long_log_before() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    let text = "z".repeat(4 << 20);
    for index in 0..19 {
        writer.append("1", index + 1, line(&text)).await.unwrap();
        if index == 10 {
            assert_eq!(
                (files(folder.path(), "zst"), files(folder.path(), "log")),
                (0, 12)
            );
        }
    }
    // Of nineteen full segments sixteen may wait; the others are at work one after the other, and
    // the next is written only when the one before is compressed.
    assert!(files(folder.path(), "zst") >= 1);
    writer.close().await.unwrap();
    assert_eq!(read(&logs, 0).await.len(), 19);
    drop(writer);
    while files(folder.path(), "log") > 0 || files(folder.path(), "tmp") > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(payloads(&read(&logs, 18).await), [text]);
}

fn status(status: airside_model::BuildStatus) -> Event {
    Event::Status { status, time: 1 }
}

async fn outlined(logs: &Logs) -> Vec<(u64, String)> {
    let entries = logs.outline(BuildId(1)).await;
    let entries = entries.expect("the outline can be read");
    let shown = entries
        .iter()
        .map(|entry| (entry.id, entry.envelope.as_str().to_owned()));
    shown.collect()
}

/// Returns the outline that the whole log has.
async fn expected(logs: &Logs) -> Vec<(u64, String)> {
    let entries = read(logs, 0).await;
    let others = entries
        .iter()
        .map(|entry| (entry.id, entry.envelope.as_str().to_owned()))
        .filter(|(_, envelope)| !envelope.contains(r#","event":"log","version""#));
    others.collect()
}

#[tokio::test]
async fn the_outline_has_all_events_but_output_across_epochs() {
    use airside_model::BuildStatus::{Started, Succeeded};
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    assert_eq!(outlined(&logs).await, []);
    let first = logs.writer(BuildId(1), 1).await.unwrap();
    first.append("status", 1, status(Started)).await.unwrap();
    // Output that looks like another event is output.
    let sly = r#"","event":"status","version":"1.0","event_id":"0"}"#;
    first.append("1", 1, line(sly)).await.unwrap();
    assert_eq!(outlined(&logs).await.len(), 1);
    let second = logs.writer(BuildId(1), 2).await.unwrap();
    second.append("1", 2, line("more")).await.unwrap();
    let error = Event::Error {
        message: "broken".to_owned(),
        origin: Origin::step(&PlanId::new("1")),
        time: 2,
    };
    second.append("1/error", 1, error).await.unwrap();
    assert_eq!(
        outlined(&logs)
            .await
            .iter()
            .map(|(id, _)| *id)
            .collect::<Vec<_>>(),
        [0, 3]
    );
    second.append("status", 2, status(Succeeded)).await.unwrap();
    second.close().await.unwrap();
    let whole = outlined(&logs).await;
    assert_eq!(whole, expected(&logs).await);
    assert_eq!(whole.len(), 3);
}

#[tokio::test]
async fn an_outline_that_is_missing_or_cut_is_read_from_the_log() {
    use airside_model::BuildStatus::{Started, Succeeded};
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BuildId(1), 1).await.unwrap();
    writer.append("status", 1, status(Started)).await.unwrap();
    writer.append("1", 1, line("a")).await.unwrap();
    writer.append("status", 2, status(Succeeded)).await.unwrap();
    writer.close().await.unwrap();
    logs.at_rest().await;
    let whole = outlined(&logs).await;
    assert_eq!(whole, expected(&logs).await);
    let path = folder.path().join("1/outline-000001");
    let file = std::fs::read(&path).unwrap();
    for length in 0..file.len() {
        std::fs::write(&path, &file[..length]).unwrap();
        assert_eq!(outlined(&logs).await, whole, "{length}");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(outlined(&logs).await, whole);
}
