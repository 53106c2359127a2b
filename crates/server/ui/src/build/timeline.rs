//! The timeline: a row a step, from its beginning over its process to its end.

use std::time::Duration;

use airside_build_picture::{BuildPicture, PictureState, PictureStates};
use airside_model::BuildStatus;
use askama::Template;

use super::{
    steps::{StepsContext, page_status},
    tree::{RowShape, StepRow, rows},
};
use crate::{PageStatus, duration_text, marks::glyph, shell::rendered};

/// The largest number of rows of a timeline.
const MAX_ROWS: usize = 500;
/// Heights in the drawing: of its head, and of a row.
const HEAD: usize = 28;
const ROW: usize = 32;

/// Renders the timeline of a build's steps.
pub fn timeline(picture: &BuildPicture, status: BuildStatus, context: &StepsContext) -> String {
    let states = PictureStates::of(picture, status);
    let from = context.began.unwrap_or(context.now);
    let last = (0..picture.nodes().len()).filter_map(|place| states.span(place).ended);
    let ended = context.ended.unwrap_or(context.now);
    let to = last.max().unwrap_or(ended).max(ended).max(from + 1_000);
    let mut plot = Plot {
        states: &states,
        from,
        to,
        bars: Vec::new(),
    };
    plot.add(&rows(picture), 0);
    let ticks = ticks(to - from);
    let height = HEAD + ROW * plot.bars.len();
    rendered(&Timeline {
        build: context.build,
        ticks: ticks
            .into_iter()
            .map(|millis| (percent(millis, to - from), tick_text(millis)))
            .collect(),
        bars: plot.bars,
        height,
    })
}

struct Plot<'a> {
    states: &'a PictureStates,
    from: i64,
    to: i64,
    bars: Vec<TimelineBar>,
}

impl Plot<'_> {
    fn add(&mut self, rows: &[StepRow], depth: usize) {
        for row in rows {
            if self.bars.len() == MAX_ROWS {
                return;
            }
            self.bars.push(self.bar(row, depth));
            match row.shape {
                RowShape::Leaf => {}
                RowShape::Attempts => self.add_attempts(row, depth + 1),
                RowShape::Group | RowShape::Across => self.add(&row.children, depth + 1),
            }
        }
    }

    /// Adds the attempts that began, by their numbers.
    fn add_attempts(&mut self, row: &StepRow, depth: usize) {
        let begun = row.children.iter().zip(1..);
        for (attempt, number) in begun {
            if self.states.state(attempt.place) == PictureState::NotRun {
                continue;
            }
            let mut named = attempt.clone();
            if attempt.name == row.name {
                named.name = format!("attempt {number}");
            }
            self.add(&[named], depth);
        }
    }

    fn bar(&self, row: &StepRow, depth: usize) -> TimelineBar {
        let (state, span) = (self.states.state(row.place), self.states.span(row.place));
        let top = HEAD + ROW * self.bars.len();
        let length = self.to - self.from;
        let at = |time: i64| percent((time - self.from).clamp(0, length), length);
        let width = |from: i64, to: i64| percent((to - from).clamp(length / 400, length), length);
        let mut bar = TimelineBar {
            name: row.name.clone(),
            kind: row.kind,
            values: row.values.join(", "),
            status: page_status(state),
            depth: depth.min(1),
            time: "not run".to_owned(),
            is_group: row.shape != RowShape::Leaf,
            place: None,
            run: None,
            top,
        };
        let Some(began) = span.began else {
            if state != PictureState::NotRun {
                bar.time = "–".to_owned();
            }
            return bar;
        };
        let ended = span.ended.unwrap_or(self.to).max(began);
        let started = span.started.unwrap_or(began).clamp(began, ended);
        bar.time = duration_text(Duration::from_millis(
            u64::try_from(ended - began).unwrap_or_default(),
        ));
        if !bar.is_group && started > began {
            bar.place = Some((at(began), width(began, started)));
        }
        let run_from = if bar.is_group { began } else { started };
        bar.run = Some((at(run_from), width(run_from, ended)));
        bar
    }
}

/// Returns a part of a length as a percentage for SVG.
fn percent(part: i64, length: i64) -> String {
    format!("{:.2}%", part as f64 * 100.0 / length.max(1) as f64)
}

/// Returns at most eight round times within a length, in milliseconds.
fn ticks(length: i64) -> Vec<i64> {
    let steps = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400,
    ];
    let seconds = length / 1_000;
    let step = steps.into_iter().find(|step| seconds / step < 8);
    let step = step.unwrap_or(seconds / 7).max(1) * 1_000;
    (0..8)
        .map(|index| index * step)
        .take_while(|millis| *millis <= length)
        .collect()
}

fn tick_text(millis: i64) -> String {
    let seconds = millis / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => "0".to_owned(),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} m"),
        (0, minutes, seconds) => format!("{minutes} m {seconds}"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes}"),
    }
}

struct TimelineBar {
    name: String,
    kind: &'static str,
    values: String,
    status: PageStatus,
    depth: usize,
    time: String,
    is_group: bool,
    place: Option<(String, String)>,
    run: Option<(String, String)>,
    top: usize,
}

#[derive(Template)]
#[template(path = "build/timeline.html")]
struct Timeline {
    build: i64,
    ticks: Vec<(String, String)>,
    bars: Vec<TimelineBar>,
    height: usize,
}

#[cfg(test)]
mod tests {
    use super::{tick_text, ticks};

    #[test]
    fn ticks_are_round_and_few() {
        let shown = |seconds: i64| -> Vec<String> {
            ticks(seconds * 1_000).into_iter().map(tick_text).collect()
        };
        assert_eq!(shown(3), ["0", "1 s", "2 s", "3 s"]);
        assert_eq!(
            shown(192),
            ["0", "30 s", "1 m", "1 m 30", "2 m", "2 m 30", "3 m"]
        );
        assert!(
            (1..500_000)
                .step_by(977)
                .all(|seconds| shown(seconds).len() <= 8)
        );
    }
}
