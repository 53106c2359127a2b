//! The rows at the bottom of a terminal that say what is running, and for how long.

use std::time::Instant;

use super::{PullProbe, bar, took};

/// Something that runs.
pub(super) struct Running {
    /// Name of the row among all that runs.
    pub(super) key: String,
    pub(super) label: String,
    pub(super) kind: &'static str,
    pub(super) since: Instant,
    pub(super) pull: PullProbe,
}

/// The rows at the bottom of the terminal.
#[derive(Default)]
pub(super) struct Live {
    pub(super) running: Vec<Running>,
    /// Number of rows drawn.
    drawn: usize,
    /// True if rows are shown dim.
    colours: bool,
}

/// No more rows than this, so that there is room for what steps print.
const MAX_ROWS: usize = 8;

impl Live {
    pub(super) fn new(colours: bool) -> Self {
        Self {
            colours,
            ..Self::default()
        }
    }

    /// The bytes that show a text above the rows, and the rows as they are now.
    pub(super) fn above(&mut self, text: &str) -> String {
        let rows = rows(&self.running, Instant::now(), columns());
        let mut out = String::new();
        if self.drawn > 0 {
            // To the first of the old rows, and away with them.
            out.push_str(&format!("\x1b[{}A\r\x1b[J", self.drawn));
        }
        out.push_str(text);
        for row in &rows {
            let (dim, normal) = if self.colours {
                ("\x1b[2m", "\x1b[0m")
            } else {
                ("", "")
            };
            out.push_str(&format!("{dim}{row}{normal}\n"));
        }
        self.drawn = rows.len();
        out
    }
}

fn rows(running: &[Running], now: Instant, columns: usize) -> Vec<String> {
    let width = running
        .iter()
        .map(|running| running.label.chars().count())
        .max()
        .unwrap_or_default();
    let shown = match running.len() {
        few if few <= MAX_ROWS => few,
        _ => MAX_ROWS - 1,
    };
    let mut rows: Vec<String> = running[..shown]
        .iter()
        .map(|running| {
            let time = took(now.saturating_duration_since(running.since));
            let pull = (running.pull)().map_or_else(String::new, |pull| {
                let elapsed = now.saturating_duration_since(pull.since.into_std());
                format!("   {}", bar::words(&pull.progress, elapsed))
            });
            format!("{:width$}   {} {time}{pull}", running.label, running.kind)
        })
        .collect();
    if shown < running.len() {
        rows.push(format!("and {} more", running.len() - shown));
    }
    // A row that wraps would be two, and the count of rows wrong.
    let cut = |row: String| row.chars().take(columns.saturating_sub(1)).collect();
    rows.into_iter().map(cut).collect()
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    match size {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use airside_orchestrator::PullStatus;
    use airside_pulls::PullProgress;

    use super::*;

    fn running(label: &str, since: Instant) -> Running {
        Running {
            key: label.to_owned(),
            label: label.to_owned(),
            kind: "task",
            since,
            pull: Box::new(|| None),
        }
    }

    #[test]
    fn rows_line_up_and_never_wrap() {
        let (began, now) = {
            let began = Instant::now();
            (began, began + Duration::from_millis(1500))
        };
        let two = [running("job/a", began), running("job/longer", now)];
        let expected = ["job/a        task 1.5s", "job/longer   task 0.0s"];
        assert_eq!(rows(&two, now, 80), expected);
        assert_eq!(rows(&two, now, 8), ["job/a  ", "job/lon"]);
        let many: Vec<Running> = (0..20).map(|_| running("job/a", now)).collect();
        let shown = rows(&many, now, 80);
        assert_eq!(shown.len(), MAX_ROWS);
        assert_eq!(shown[MAX_ROWS - 1], "and 13 more");
    }

    #[test]
    fn a_pull_shows_in_its_row() {
        let began = Instant::now();
        let progress = PullProgress {
            layers: 2,
            bytes: 2 << 20,
            layers_done: 1,
            bytes_done: 1 << 20,
            ..PullProgress::default()
        };
        let since = tokio::time::Instant::from_std(began);
        let mut row = running("job/image", began);
        row.pull = Box::new(move || Some(PullStatus { progress, since }));
        let bar = "[##########..........] 1.0 MiB of 2.0 MiB, 1 of 2 layers, 1.0 MiB/s";
        let expected = format!("job/image   task 1.0s   {bar}");
        assert_eq!(
            rows(&[row], began + Duration::from_secs(1), 200),
            [expected]
        );
    }

    #[test]
    fn old_rows_go_before_new_ones_come() {
        let mut live = Live::new(true);
        assert_eq!(live.above("text\n"), "text\n");
        live.running.push(running("job/a", Instant::now()));
        assert!(live.above("").ends_with("\x1b[0m\n"));
        live.running.clear();
        assert_eq!(live.above("text\n"), "\x1b[1A\r\x1b[Jtext\n");
        assert_eq!(live.above("text\n"), "text\n");
        let mut plain = Live::new(false);
        plain.running.push(running("job/a", Instant::now()));
        assert!(!plain.above("").contains('\x1b'), "no colours");
    }
}
