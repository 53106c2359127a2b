//! The text of a path: corners become quarters of a curve.

use std::fmt::Write;

use crate::graph::{EdgePath, PathPoint};

const RADIUS: i32 = 8;
/// Length of an arrow, and half its width.
const ARROW: i32 = 6;

impl EdgePath {
    /// Returns the value of an SVG attribute `d`. Its ends are shortened, for instance by the
    /// arrow's length.
    pub fn d(&self, from_start: i32, from_end: i32) -> String {
        let mut points = self.points.clone();
        shorten(&mut points, from_end, true);
        shorten(&mut points, from_start, false);
        let mut text = String::new();
        let [first, .., last] = points[..] else {
            return text;
        };
        // Writing to a string does not fail.
        let _ = write!(text, "M{} {}", first.x, first.y);
        for (index, corner) in points.windows(3).enumerate() {
            let ends = (index == 0, index + 3 == points.len());
            turn(&mut text, corner, ends);
        }
        straight(&mut text, points[points.len() - 2], last);
        text
    }

    /// Returns the `d` of the arrow at the end of the path, or nothing if there is no path.
    pub fn arrow(&self, from_end: i32) -> String {
        match self.points.last() {
            Some(end) => format!(
                "M{} {}l6 3.5-6 3.5z",
                end.x - from_end - ARROW,
                half_below(end.y)
            ),
            None => String::new(),
        }
    }
}

/// A height less 3.5.
fn half_below(height: i32) -> String {
    let half = 2 * i64::from(height) - 7;
    format!("{}{}.5", if half < 0 { "-" } else { "" }, half.abs() / 2)
}

/// Cuts off a part of the first or last line, but leaves a pixel of it.
fn shorten(points: &mut [PathPoint], pixels: i32, at_end: bool) {
    if points.len() < 2 {
        return;
    }
    let (end, next) = if at_end {
        (points.len() - 1, points.len() - 2)
    } else {
        (0, 1)
    };
    let length = (points[next].x - points[end].x).abs();
    let cut = pixels.clamp(0, (length - 1).max(0));
    points[end].x += cut * (points[next].x - points[end].x).signum();
}

/// Draws a line up to a corner, and the corner. It may use all of a line at an end of the path, and
/// half of others.
fn turn(text: &mut String, points: &[PathPoint], (first, last): (bool, bool)) {
    let &[before, corner, after] = points else {
        return;
    };
    let length = |end: PathPoint| (corner.x - end.x).abs() + (corner.y - end.y).abs();
    let share = |end: PathPoint, whole: bool| if whole { length(end) } else { length(end) / 2 };
    let radius = RADIUS.min(share(before, first)).min(share(after, last));
    let toward = |end: PathPoint| PathPoint {
        x: corner.x + radius * (end.x - corner.x).signum(),
        y: corner.y + radius * (end.y - corner.y).signum(),
    };
    let (from, to) = (toward(before), toward(after));
    straight(text, before, from);
    let _ = write!(text, "Q{} {} {} {}", corner.x, corner.y, to.x, to.y);
}

fn straight(text: &mut String, from: PathPoint, to: PathPoint) {
    // Writing to a string does not fail.
    let _ = if from.y == to.y {
        write!(text, "H{}", to.x)
    } else {
        write!(text, "V{}", to.y)
    };
}
