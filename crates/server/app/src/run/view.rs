//! The output of a run: plain lines, and on a terminal the running steps below them.

mod bar;
mod live;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use airside_orchestrator::PullStatus;

use super::lines::{shown, without_colours};
use crate::colours;
use live::{Live, Running};

/// The widest label that others are lined up with.
const WIDEST: usize = 32;

/// The mark of a success, in green. The view takes colours away where they are not wanted, and the
/// sign alone says it too.
pub(crate) const SUCCESS_MARK: &str = "\x1b[32m✓\x1b[0m";
/// The mark of a failure, in red.
pub(crate) const FAILURE_MARK: &str = "\x1b[31m✗\x1b[0m";

/// Looks for the pull of a step's image, while there is one.
pub(crate) type PullProbe = Box<dyn Fn() -> Option<PullStatus> + Send>;

/// The view of a run, on standard output.
pub(crate) struct View {
    width: Mutex<usize>,
    /// True if colours of steps are shown.
    colours: bool,
    /// Rows of a terminal; none unless standard output is one.
    live: Option<Mutex<Live>>,
}

impl View {
    pub(crate) fn new() -> Self {
        let colours = colours::on_stdout();
        let live = colours::stdout_has_cursor();
        Self {
            width: Mutex::default(),
            colours,
            live: live.then(|| Mutex::new(Live::new(colours))),
        }
    }

    /// Lines up what comes from now on with this label too.
    pub(crate) fn make_room(&self, label: &str) {
        let mut width = self.width.lock();
        *width = (*width).max(label.chars().count().min(WIDEST));
    }

    /// Shows lines of a job or step.
    pub(crate) fn print_lines<'a>(&self, label: &str, lines: impl IntoIterator<Item = &'a str>) {
        let width = *self.width.lock();
        let mut text = String::new();
        for line in lines {
            let line = clean(line, self.colours);
            text.push_str(&format!("{label:width$} | {line}\n"));
        }
        self.write(&text);
    }

    /// Shows lines that belong to no step.
    pub(crate) fn print_text(&self, text: &str) {
        let lines = text.lines().map(|line| clean(line, self.colours) + "\n");
        self.write(&lines.collect::<String>());
    }

    fn write(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        match &self.live {
            None => put(text),
            Some(live) => put(&live.lock().above(text)),
        }
    }

    /// Returns true if rows show what is running.
    pub(crate) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Says that something runs from now on. Labels may be alike, keys are not.
    pub(crate) fn begin(&self, key: &str, label: &str, kind: &'static str, pull: PullProbe) {
        if let Some(live) = &self.live {
            live.lock().running.push(Running {
                key: key.to_owned(),
                label: label.to_owned(),
                kind,
                since: Instant::now(),
                pull,
            });
        }
    }

    /// Counts the time of what runs from now on.
    pub(crate) fn restart(&self, key: &str) {
        if let Some(live) = &self.live {
            let mut live = live.lock();
            let row = live.running.iter_mut().find(|running| running.key == key);
            if let Some(row) = row {
                row.since = Instant::now();
            }
        }
    }

    pub(crate) fn end(&self, key: &str) {
        if let Some(live) = &self.live {
            live.lock().running.retain(|running| running.key != key);
        }
    }

    /// Keeps the times on a terminal going until dropped.
    pub(crate) async fn tick(&self) {
        let Some(live) = &self.live else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            put(&live.lock().above(""));
        }
    }

    /// Takes away what is shown of running steps: nothing runs any more.
    pub(crate) fn finish(&self) {
        if let Some(live) = &self.live {
            let mut live = live.lock();
            live.running.clear();
            put(&live.above(""));
        }
    }
}

fn clean(line: &str, colours: bool) -> String {
    if colours {
        shown(line)
    } else {
        without_colours(line)
    }
}

/// Writes to standard output. An error is ignored: the builds go on without a reader.
fn put(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// A length of time as people like to read it.
pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", time.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_coloured_where_colours_are_and_signs_elsewhere() {
        for (mark, colour, sign) in [(SUCCESS_MARK, 32, "✓"), (FAILURE_MARK, 31, "✗")] {
            let line = format!("{mark} task ended");
            let coloured = format!("\x1b[{colour}m{sign}\x1b[0m task ended");
            assert_eq!(clean(&line, true), coloured);
            assert_eq!(clean(&line, false), format!("{sign} task ended"));
        }
    }

    #[test]
    fn times_are_short() {
        for (millis, shown) in [
            (0, "0.0s"),
            (1_240, "1.2s"),
            (61_000, "1m01s"),
            (3_725_000, "1h02m"),
        ] {
            assert_eq!(took(Duration::from_millis(millis)), shown);
        }
    }
}
