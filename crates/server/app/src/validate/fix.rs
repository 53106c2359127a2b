//! `airside validate --fix`: edits a text where it is certain what was meant. It replaces the words
//! that are wrong and nothing else, so comments and layout stay.

use std::collections::HashSet;
use std::ops::Range;

use airside_config::{Fix, FixAction, Problem};

use super::{Outcome, given::Values, judge, traps};

/// Fixing one mistake may show the next one; a text with more layers than this keeps the rest.
const MAX_ROUNDS: usize = 10;

/// A line that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedLine {
    pub(super) number: usize,
    pub(super) old: String,
    pub(super) new: String,
}

/// Replaces a part of one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Edit {
    range: Range<usize>,
    line: usize,
    to: String,
    /// A problem may remain at the place: that a variable has no value, say.
    may_keep_problem: bool,
}

/// Returns the text with every mistake mended of which the right form is certain.
pub(super) fn fix(text: &str, task: bool, values: &Values) -> String {
    let mut text = text.to_owned();
    // Edits that did not help, by line and new text; edits do not add lines.
    let mut refused = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let edits = edits(&text, task, values);
        let new = |edit: &Edit| !refused.contains(&(edit.line, edit.to.clone()));
        let wanted: Vec<Edit> = edits.into_iter().filter(new).collect();
        let (fixed, useless) = apply_useful(&text, wanted, task, values);
        refused.extend(useless);
        if fixed == text {
            break;
        }
        text = fixed;
    }
    text
}

/// Returns the lines that differ; both texts have the same number of lines.
pub(super) fn changed_lines(old: &str, new: &str) -> Vec<ChangedLine> {
    let pairs = old.lines().zip(new.lines()).enumerate();
    let changed = pairs.filter(|(_, (old, new))| old != new);
    changed
        .map(|(index, (old, new))| ChangedLine {
            number: index + 1,
            old: old.to_owned(),
            new: new.to_owned(),
        })
        .collect()
}

/// Shows changes as lines taken out and put in.
pub(super) fn show_changes(changes: &[ChangedLine], file: &str, only_shown: bool) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut shown = String::new();
    for change in changes {
        shown.push_str(&format!(
            "{file}:{}\n- {}\n+ {}\n",
            change.number, change.old, change.new
        ));
    }
    let lines = match changes.len() {
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    };
    let done = if only_shown { "would fix" } else { "fixed" };
    shown.push_str(&format!("{file}: {done} {lines}\n\n"));
    shown
}

fn problems(text: &str, task: bool, values: &Values) -> Vec<Problem> {
    match judge(text, task, values) {
        Outcome::Problems(problems, _) => problems,
        Outcome::Unreadable(_) | Outcome::Unwritable(_) | Outcome::Sound(_) => Vec::new(),
    }
}

/// The edits that mend problems and traps, in the order of the text.
fn edits(text: &str, task: bool, values: &Values) -> Vec<Edit> {
    let problems = problems(text, task, values);
    let is_document = airside_yaml::parse(text).is_ok();
    let mut fixes: Vec<Fix> = problems
        .into_iter()
        .flat_map(|problem| problem.fixes)
        .collect();
    if let Ok(node) = airside_yaml::parse(text) {
        let traps = traps::find(text, &node).into_iter();
        let certain = traps.filter(|trap| trap.is_certain);
        fixes.extend(certain.map(|trap| Fix::quote(trap.span)));
    }
    let found = fixes.iter().filter_map(|fix| edit(text, fix, !is_document));
    let mut edits: Vec<Edit> = found.collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    // One value may be behind many aliases.
    edits.dedup_by(|next, last| next.range.start < last.range.end);
    edits
}

/// Returns the edit of a fix, if the text there is what the fix takes it for: it may come from a
/// variable.
fn edit(text: &str, fix: &Fix, may_keep_problem: bool) -> Option<Edit> {
    let range = fix.span.start.offset..fix.span.end.offset;
    let written = text.get(range.clone())?;
    let to = match &fix.action {
        FixAction::Replace { from, to } if from == written => to.clone(),
        FixAction::Replace { from, to } => {
            let quote = written.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let is_same = written.trim_matches(quote) == from;
            is_same.then(|| format!("{quote}{to}{quote}"))?
        }
        FixAction::Quote => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-._:".contains(c);
            let is_word = !written.is_empty() && written.chars().all(is_plain);
            is_word.then(|| format!("\"{written}\""))?
        }
    };
    Some(Edit {
        range,
        line: fix.span.start.line,
        to,
        may_keep_problem,
    })
}

/// Applies the edits after which there is no problem at their place, and returns the others by line
/// and text.
fn apply_useful(
    text: &str,
    mut edits: Vec<Edit>,
    task: bool,
    values: &Values,
) -> (String, Vec<(usize, String)>) {
    let mut useless = Vec::new();
    let was_document = airside_yaml::parse(text).is_ok();
    while !edits.is_empty() {
        let (fixed, places) = apply(text, &edits);
        let problems = problems(&fixed, task, values);
        if was_document && airside_yaml::parse(&fixed).is_err() {
            break;
        }
        let is_useless = |edit: &Edit, place: &Range<usize>| {
            let spans = problems.iter().filter_map(|problem| problem.span);
            let mut spans = spans.map(|span| span.start.offset..span.end.offset);
            let is_at = |span: Range<usize>| place.start <= span.start && span.end <= place.end;
            !edit.may_keep_problem && spans.any(is_at)
        };
        let judged = edits.into_iter().zip(&places);
        let (bad, good): (Vec<_>, Vec<_>) =
            judged.partition(|(edit, place)| is_useless(edit, place));
        if bad.is_empty() {
            return (fixed, useless);
        }
        useless.extend(bad.into_iter().map(|(edit, _)| (edit.line, edit.to)));
        edits = good.into_iter().map(|(edit, _)| edit).collect();
    }
    (text.to_owned(), useless)
}

/// Returns the new text, and the places of the edits in it. The edits do not overlap.
fn apply(text: &str, edits: &[Edit]) -> (String, Vec<Range<usize>>) {
    let mut fixed = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(edits.len());
    let mut done = 0;
    for edit in edits {
        fixed.push_str(&text[done..edit.range.start]);
        let start = fixed.len();
        fixed.push_str(&edit.to);
        places.push(start..fixed.len());
        done = edit.range.end;
    }
    fixed.push_str(&text[done..]);
    (fixed, places)
}

#[cfg(test)]
mod tests;
