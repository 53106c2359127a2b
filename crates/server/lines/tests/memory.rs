//! A long log is read in little memory. Alone in its program, since it measures the program.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_lines::{BuildLines, FindCursor, FindPart, FindQuery, LineRange};
use airside_logs::Logs;
use airside_model::{
    BuildId, PlanId,
    event::{Event, Origin},
};

const BUILD: BuildId = BuildId(1);

/// The highest memory of this program since the last call, in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse().unwrap()
}

#[tokio::test]
async fn a_log_of_20_megabytes_is_read_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let writer = logs.writer(BUILD, 1).await.unwrap();
    let line = format!("\x1b[32m{}\x1b[0m\r\n", "word ".repeat(19));
    let payload = line.repeat(200);
    for batch in 0..10 {
        let event = |number| Event::Log {
            time: 7,
            origin: Origin::step(&PlanId::new("1")),
            payload: format!("block {number}\n{payload}"),
        };
        let events = batch * 100..(batch + 1) * 100;
        let events = events.map(|number| (number + 1, event(number))).collect();
        writer.append_all("1", events).await.unwrap();
    }
    writer.close().await.unwrap();
    logs.at_rest().await;
    let lines = BuildLines::new(logs);
    peak();
    let before = peak();

    let window = LineRange::From {
        line: 150_001,
        count: 500,
    };
    let window = lines
        .window(BUILD, "1".into(), window, false)
        .await
        .unwrap();
    assert_eq!((window.total, window.lines.len()), (1000 * 201, 500));
    let query = FindQuery::words("block 77", true).unwrap();
    let at = FindCursor::default();
    let mut found = Vec::new();
    let mut next = Some(at);
    while let Some(at) = next {
        let parts = lines.find(BUILD, "ann".into(), query.clone(), None, at);
        let mut parts = parts.await.unwrap();
        next = loop {
            match parts.recv().await.unwrap() {
                FindPart::Hit(hit) => found.push(hit.line),
                FindPart::End(next) => break next,
            }
        };
    }
    assert_eq!(found.len(), 11);
    assert_eq!(found[0], 77 * 201 + 1);
    let grown = peak().saturating_sub(before);
    assert!(grown < 16 * 1024, "{grown} KB");
}
