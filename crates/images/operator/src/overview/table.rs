//! The overview as text. It can be read without colour and without a terminal.

use std::fmt::Write as _;

use super::{ImageOnNode, ImageOnNodeState, ImageView, Overview, SetView, TagWord};

/// Number of nodes up to which each has a column.
const MOST_COLUMNS: usize = 8;
const BAR: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// A table with bars.
    Terminal,
}

pub fn table(overview: &Overview, style: Style) -> String {
    if overview.sets.is_empty() {
        return "there are no image sets\n".to_owned();
    }
    let sets = overview.sets.iter().map(|set| of_set(set, style));
    sets.collect::<Vec<_>>().join("\n")
}

fn of_set(set: &SetView, style: Style) -> String {
    let mut text = format!(
        "{}/{}  {}",
        set.namespace,
        set.name,
        if set.ready { "ready" } else { "not ready" }
    );
    if style == Style::Terminal {
        // Writing to a String does not fail.
        let _ = write!(text, "  {}", bar(set.present, set.wanted));
    }
    let _ = writeln!(text, "  {}/{}", set.present, set.wanted);
    if !set.ready && !set.message.is_empty() {
        let _ = writeln!(text, "  {}", set.message);
    }
    let has_columns = set.nodes.len() <= MOST_COLUMNS;
    let mut rows = vec![head(set, has_columns)];
    rows.extend(set.images.iter().map(|image| row(image, has_columns)));
    text.push_str(&aligned(&rows));
    for image in set.images.iter().filter(|image| !image.message.is_empty()) {
        let _ = writeln!(text, "  {}: {}", image.image, image.message);
    }
    text
}

fn head(set: &SetView, has_columns: bool) -> Vec<String> {
    let mut head = vec!["IMAGE".to_owned(), "SIZE".to_owned()];
    if has_columns {
        head.extend(set.nodes.iter().cloned());
    } else {
        head.extend(["PRESENT", "PULLING", "PENDING", "ERROR", "SILENT"].map(str::to_owned));
    }
    head
}

fn row(image: &ImageView, has_columns: bool) -> Vec<String> {
    let size = match image.state {
        TagWord::Pending => "not known yet".to_owned(),
        TagWord::Missing => "not in its registry".to_owned(),
        TagWord::Found | TagWord::Error if image.size_bytes > 0 => size(image.size_bytes),
        TagWord::Found | TagWord::Error => "not known".to_owned(),
    };
    let mut row = vec![image.image.clone(), size];
    if has_columns {
        row.extend(image.nodes.values().map(words));
        return row;
    }
    use ImageOnNodeState::{Error, Pending, Present, Pulling, Silent};
    let count = |state| {
        image
            .nodes
            .values()
            .filter(|place| place.state == state)
            .count()
    };
    row.extend([Present, Pulling, Pending, Error, Silent].map(|state| count(state).to_string()));
    row
}

fn words(place: &ImageOnNode) -> String {
    match (place.state, place.seconds) {
        (ImageOnNodeState::Present, _) => "present".to_owned(),
        (ImageOnNodeState::Pulling, Some(seconds)) => format!("pulling {}", time(seconds)),
        (ImageOnNodeState::Pulling, None) => "pulling".to_owned(),
        (ImageOnNodeState::Pending, _) => "pending".to_owned(),
        (ImageOnNodeState::Error, _) => "error".to_owned(),
        (ImageOnNodeState::Silent, _) => "no agent".to_owned(),
    }
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| Some(row.get(column)?.chars().count()))
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text
}

fn bar(done: usize, all: usize) -> String {
    let filled = (done * BAR).checked_div(all).unwrap_or(0);
    format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled))
}

fn time(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value < 9.95 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn place(state: ImageOnNodeState, seconds: Option<i64>) -> ImageOnNode {
        ImageOnNode {
            state,
            seconds,
            message: String::new(),
        }
    }

    fn overview(nodes: usize) -> Overview {
        let names: Vec<String> = (1..=nodes).map(|number| format!("n{number}")).collect();
        let states = [
            place(ImageOnNodeState::Present, Some(7)),
            place(ImageOnNodeState::Pulling, Some(75)),
            place(ImageOnNodeState::Silent, None),
        ];
        let places = names.iter().cloned().zip(states.iter().cycle().cloned());
        let image = ImageView {
            image: "r.example/app:1".to_owned(),
            digest: "sha256:1".to_owned(),
            state: TagWord::Found,
            size_bytes: 412_345_678,
            message: String::new(),
            nodes: places.collect(),
        };
        let lost = ImageView {
            image: "r.example/much/longer:2".to_owned(),
            state: TagWord::Error,
            size_bytes: 0,
            message: "the registry is down".to_owned(),
            ..image.clone()
        };
        Overview {
            sets: vec![SetView {
                namespace: "team".to_owned(),
                name: "app".to_owned(),
                ready: false,
                message: "2 of 6 images are present".to_owned(),
                present: 2,
                wanted: 6,
                nodes: names,
                images: vec![image, lost],
            }],
            now: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn sets_by_nodes() {
        insta::assert_snapshot!(table(&overview(3), Style::Terminal));
        insta::assert_snapshot!(table(&overview(20), Style::Plain));
        let nothing = Overview {
            sets: vec![],
            ..overview(1)
        };
        assert_eq!(table(&nothing, Style::Plain), "there are no image sets\n");
    }

    #[test]
    fn sizes_and_times() {
        for (bytes, expected) in [
            (0, "0.0 kB"),
            (1_500, "1.5 kB"),
            (999_600, "1.0 MB"),
            (12_000_000_000, "12 GB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        assert_eq!([5, 75, 3700].map(time), ["5s", "1m15s", "1h01m"]);
    }
}
