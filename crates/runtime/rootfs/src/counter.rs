//! Counts what is read of layers while they are unpacked.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use airside_pulls::{PullProgress, PullStage};

/// Shortest time between two reports of progress.
const INTERVAL: Duration = Duration::from_millis(500);

/// The progress of unpacking.
pub(crate) struct Counter<'a> {
    progress: PullProgress,
    reported: Instant,
    report: &'a mut dyn FnMut(PullProgress),
}

impl<'a> Counter<'a> {
    pub(crate) fn new(layers: u64, bytes: u64, report: &'a mut dyn FnMut(PullProgress)) -> Self {
        let progress = PullProgress::start(PullStage::Unpacking, layers, bytes);
        report(progress);
        Self {
            progress,
            reported: Instant::now(),
            report,
        }
    }

    pub(crate) fn layer_done(&mut self) {
        self.progress.layers_done = self.progress.layers_done.saturating_add(1);
    }

    fn add(&mut self, bytes: usize) {
        self.progress.bytes_done = self.progress.bytes_done.saturating_add(bytes as u64);
        if self.reported.elapsed() >= INTERVAL {
            self.reported = Instant::now();
            (self.report)(self.progress);
        }
    }
}

/// Counts the bytes of a layer that are read.
pub(crate) struct Counted<'a, 'b, R> {
    pub(crate) reader: R,
    pub(crate) counter: &'a mut Counter<'b>,
}

impl<R: Read> Read for Counted<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.counter.add(count);
        Ok(count)
    }
}
