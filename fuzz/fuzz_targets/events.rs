//! A log that is cut anywhere, as a crash does, and written on by the next server: followers see a
//! beginning of what was written, then what came after, nothing twice and nothing made up.
#![no_main]

use std::{
    fs,
    path::{Path, PathBuf},
};

use airside_logs::Logs;
use airside_model::{
    BuildId, PlanId,
    event::{Event, Origin, Source},
};
use futures::StreamExt;
use libfuzzer_sys::fuzz_target;

const BUILD: BuildId = BuildId(1);

fn event(number: u64) -> Event {
    Event::Log {
        time: 0,
        origin: Origin {
            id: PlanId::new("1"),
            source: Some(Source::Stdout),
        },
        payload: number.to_string(),
    }
}

fn segments(root: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(root.join(BUILD.to_string())).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Cuts or overwrites the end of the newest segment.
fn damage(root: &Path, cut: u8, garbage: &[u8]) {
    let Some(last) = segments(root).into_iter().filter(|path| path.extension().is_some_and(|e| e == "log")).next_back()
    else {
        return;
    };
    let mut bytes = fs::read(&last).expect("it is there");
    bytes.truncate(bytes.len().saturating_sub(cut.into()));
    bytes.extend_from_slice(garbage);
    fs::write(last, bytes).expect("it can be written");
}

async fn run(input: Vec<(u8, u8, Vec<u8>)>) {
    let home = tempfile::tempdir_in("/dev/shm").expect("a folder");
    for (epoch, (count, cut, garbage)) in (1..).zip(input.iter().take(4)) {
        let logs = Logs::open(home.path()).expect("it opens");
        let writer = logs.writer(BUILD, epoch).await.expect("it can be written");
        // As a step's driver does: on from what is known to be written.
        let from = writer.position("1");
        for number in from + 1..=from + u64::from(*count) {
            writer.append("1", number, event(number)).await.expect("it can be written");
            // What is written already is not written again.
            writer.append("1", number, event(number)).await.expect("it can be written");
        }
        drop(writer);
        damage(home.path(), *cut, garbage);
    }
    let logs = Logs::open(home.path()).expect("it opens");
    let writer = logs.writer(BUILD, 9).await.expect("it can be written");
    let end = writer.position("1") + 1;
    writer.append("1", end, event(end)).await.expect("it can be written");
    writer.close().await.expect("it can be closed");
    let read: Vec<_> = logs.follow(BUILD, 0).collect().await;
    let expected = (1..=end).zip(0..).map(|(number, id)| event(number).envelope(id));
    let read: Vec<String> = read.into_iter().map(|entry| entry.expect("it can be read").envelope.as_str().to_owned()).collect();
    let expected: Vec<String> = expected.collect();
    assert_eq!(read, expected);
}

fuzz_target!(|input: Vec<(u8, u8, Vec<u8>)>| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(run(input));
});
