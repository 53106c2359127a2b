//! Counts the bytes of an image's layers as they come.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use airside_oci::Descriptor;
use airside_pulls::{PullProgress, PullReport, PullStage};

use crate::log::say;

/// Shortest time between two reports of numbers.
const INTERVAL: Duration = Duration::from_millis(500);

/// The reader of a pull's progress.
enum Reader<'a> {
    /// The step's log.
    Log(PullReport),
    /// The caller.
    Caller(&'a mut dyn FnMut(PullProgress)),
}

/// The progress of one pull.
pub(crate) struct Meter<'a> {
    log: &'a mut dyn Write,
    reader: Reader<'a>,
    progress: PullProgress,
    began: Instant,
    reported: Option<Instant>,
}

impl<'a> Meter<'a> {
    /// Returns a meter that writes lines about the pull of an image into the log.
    pub(crate) fn logging(name: &str, log: &'a mut dyn Write) -> Self {
        Self::new(log, Reader::Log(PullReport::new(name)))
    }

    /// Returns a meter whose caller gets the numbers.
    pub(crate) fn calling(log: &'a mut dyn Write, caller: &'a mut dyn FnMut(PullProgress)) -> Self {
        Self::new(log, Reader::Caller(caller))
    }

    fn new(log: &'a mut dyn Write, reader: Reader<'a>) -> Self {
        Self {
            log,
            reader,
            progress: PullProgress::start(PullStage::Fetching, 0, 0),
            began: Instant::now(),
            reported: None,
        }
    }

    /// Writes a line to the log.
    pub(crate) fn say(&mut self, text: &str) {
        say(self.log, text);
    }

    /// Notes blobs that are to be fetched.
    pub(crate) fn expect<'b>(&mut self, blobs: impl IntoIterator<Item = &'b Descriptor>) {
        for blob in blobs {
            self.progress.layers = self.progress.layers.saturating_add(1);
            self.progress.bytes = self.progress.bytes.saturating_add(blob.size);
        }
        self.report(true);
    }

    /// Returns the bytes that have come.
    pub(crate) fn mark(&self) -> u64 {
        self.progress.bytes_done
    }

    /// Notes that what came since the mark is fetched again.
    pub(crate) fn back_to(&mut self, mark: u64) {
        self.progress.bytes_done = mark;
    }

    /// Notes that bytes have come.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.progress.bytes_done = self.progress.bytes_done.saturating_add(bytes);
        self.report(false);
    }

    /// Notes that a blob is whole.
    pub(crate) fn blob_done(&mut self) {
        self.progress.layers_done = self.progress.layers_done.saturating_add(1);
    }

    /// Notes that a blob need not be fetched.
    pub(crate) fn there_already(&mut self, bytes: u64) {
        let progress = &mut self.progress;
        progress.layers_present = progress.layers_present.saturating_add(1);
        progress.bytes_present = progress.bytes_present.saturating_add(bytes);
        self.add(bytes);
        self.blob_done();
    }

    /// Reports the last numbers.
    pub(crate) fn finish(mut self) {
        self.report(true);
        if let Reader::Log(report) = self.reader
            && let Some(line) = report.end(self.began.elapsed())
        {
            say(self.log, &line);
        }
    }

    fn report(&mut self, at_once: bool) {
        let recent = |at: Instant| at.elapsed() < INTERVAL;
        if !at_once && self.reported.is_some_and(recent) {
            return;
        }
        self.reported = Some(Instant::now());
        let progress = self.progress.bounded();
        match &mut self.reader {
            Reader::Caller(caller) => caller(progress),
            Reader::Log(report) => {
                if let Some(line) = report.take(self.began.elapsed(), progress) {
                    say(self.log, &line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use airside_oci::Digest;

    use super::*;

    fn blobs(sizes: &[u64]) -> Vec<Descriptor> {
        let digest = Digest::of_bytes(b"layer");
        let blob = |&size: &u64| Descriptor::new("application/octet-stream", digest.clone(), size);
        sizes.iter().map(blob).collect()
    }

    #[test]
    fn what_is_fetched_again_counts_once() {
        let (mut log, mut seen) = (Vec::new(), Vec::new());
        let mut caller = |progress: PullProgress| seen.push(progress);
        let mut meter = Meter::calling(&mut log, &mut caller);
        meter.expect(&blobs(&[60, 40]));
        let mark = meter.mark();
        meter.add(40);
        meter.back_to(mark);
        meter.add(60);
        meter.blob_done();
        meter.there_already(40);
        meter.finish();
        let last = seen.last().expect("a report");
        assert_eq!((last.layers_done, last.bytes_done), (2, 100));
        assert_eq!((last.layers, last.bytes), (2, 100));
        assert_eq!((last.layers_present, last.bytes_fetched()), (1, 60));
    }

    #[test]
    fn a_short_pull_logs_its_end() {
        let mut log = Vec::new();
        let mut meter = Meter::logging("app:1", &mut log);
        meter.expect(&blobs(&[2048]));
        meter.add(2048);
        meter.blob_done();
        meter.finish();
        let text = String::from_utf8(log).expect("text");
        assert!(
            text.starts_with("pulled app:1: 1 layer, 2.0 KiB in "),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }
}
