//! The lines of a secret, and how much of them a build can keep out of its output.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most lines that one value may have.
pub(super) const MOST_LINES_OF_ONE: usize = 10_000;
/// The most bytes that all different lines of one value may have.
pub(super) const MOST_BYTES_OF_ONE: usize = 512 * 1024;
/// The most lines that all secrets of a build may have.
pub(super) const MOST_LINES: usize = 40_000;
/// The most bytes that all different lines of a build's secrets may have.
pub(super) const MOST_BYTES: usize = 1024 * 1024;

/// A longer line is looked for in pieces of about half this length or more: so little is held back
/// at the end of what a step has printed so far, and read again when more comes.
pub(super) const LONGEST_PIECE: usize = 4096;

/// A build can keep no more secrets than this out of its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    #[error(
        "the value is too large to keep it out of the build's output: a secret may have {MOST_LINES_OF_ONE} \
         lines and {} KiB of text",
        MOST_BYTES_OF_ONE / 1024
    )]
    OfOne,
    #[error(
        "with this value the build has too many secrets to keep them out of its output: they may have \
         {MOST_LINES} lines and {} KiB of text together",
        MOST_BYTES / 1024
    )]
    InAll,
}

/// Gives the lines of all texts in the value. As each line of a secret may be printed by itself,
/// each counts by itself, without the spaces around it; a single character is not a secret.
pub(super) fn of(value: &Value) -> Result<BTreeSet<&[u8]>, TooMuch> {
    let (mut lines, mut bytes) = (BTreeSet::new(), 0);
    let mut add = |text| add_text(text, &mut lines, &mut bytes);
    each_text(value, &mut add)?;
    Ok(lines)
}

fn add_text<'v>(
    text: &'v str,
    lines: &mut BTreeSet<&'v [u8]>,
    bytes: &mut usize,
) -> Result<(), TooMuch> {
    let of_text = text.lines().map(str::trim);
    for piece in of_text.filter(|line| line.len() > 1).flat_map(pieces) {
        if lines.insert(piece) {
            *bytes += piece.len();
        }
        if lines.len() > MOST_LINES_OF_ONE || *bytes > MOST_BYTES_OF_ONE {
            return Err(TooMuch::OfOne);
        }
    }
    Ok(())
}

/// Cuts a line into as few pieces as may be, of nearly the same length and between characters.
fn pieces(line: &str) -> impl Iterator<Item = &[u8]> {
    // A piece may be three bytes longer, or shorter, where it would cut a character.
    let count = line.len().div_ceil(LONGEST_PIECE - 3);
    let border = move |number: usize| {
        let mut at = line.len() * number / count;
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    (0..count).map(move |number| &line.as_bytes()[border(number)..border(number + 1)])
}

/// Gives the size of all texts in the value.
pub(super) fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Object(map) => map.values().map(text_bytes).sum(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Visits the texts of a value that Concourse redacts. Numbers, booleans and the entries of lists
/// are left out: they would redact half of any log.
fn each_text<'v>(
    value: &'v Value,
    visit: &mut impl FnMut(&'v str) -> Result<(), TooMuch>,
) -> Result<(), TooMuch> {
    match value {
        Value::String(text) => visit(text),
        Value::Object(map) => map.values().try_for_each(|value| each_text(value, visit)),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters() {
        for text in ["é".repeat(10_000), "x".repeat(LONGEST_PIECE + 1)] {
            let parts: Vec<&[u8]> = pieces(&text).collect();
            assert_eq!(parts.concat(), text.as_bytes());
            for part in parts {
                assert!(std::str::from_utf8(part).is_ok());
                assert!((LONGEST_PIECE / 2 - 8..=LONGEST_PIECE).contains(&part.len()));
            }
        }
        assert_eq!(pieces("hunter2").collect::<Vec<_>>(), [b"hunter2"]);
    }

    #[test]
    fn hostile_values_are_too_large() {
        let lines: String = (0..=MOST_LINES_OF_ONE)
            .map(|n| format!("line {n}\n"))
            .collect();
        assert_eq!(of(&json!(lines)), Err(TooMuch::OfOne));
        let long = json!({"k": "x".repeat(MOST_BYTES_OF_ONE * 2)});
        let pieces = of(&long).map(|pieces| pieces.len());
        assert_eq!(pieces, Ok(2), "they are alike");
        let different: String = (0..MOST_LINES_OF_ONE)
            .map(|n| format!("{n:0>60}\n"))
            .collect();
        assert_eq!(of(&json!(different)), Err(TooMuch::OfOne));
        let same = "same line\n".repeat(MOST_LINES_OF_ONE * 3);
        assert_eq!(of(&json!(same)).map(|lines| lines.len()), Ok(1));
    }
}
