//! Output of a step as rows: the same however the bytes are cut, and also from a checkpoint on.
#![no_main]

use airside_terminal::{LIVE_ROWS, Terminal, TerminalRow};
use libfuzzer_sys::fuzz_target;

/// All rows of a terminal that is written to.
fn rows(mut terminal: Terminal, pieces: &[Vec<u8>]) -> Vec<(u64, TerminalRow)> {
    let mut rows = Vec::new();
    for piece in pieces {
        terminal.write(0, piece, |number, row| rows.push((number, row.clone())));
        assert!(terminal.live().count() <= LIVE_ROWS);
    }
    terminal.end(|number, row| rows.push((number, row.clone())));
    rows.extend(terminal.live().map(|(number, row)| (number, row.clone())));
    rows
}

fuzz_target!(|input: (Vec<Vec<u8>>, u8)| {
    let (pieces, at) = input;
    let whole = rows(Terminal::default(), &pieces);
    for row in &whole {
        let shown = |character: char| character == '\t' || !character.is_control();
        assert!(row.1.text().chars().all(shown));
    }
    assert!(rows(Terminal::default(), &[pieces.concat()]) == whole);
    let (before, after) = pieces.split_at(pieces.len().min(at.into()));
    let mut counting = Terminal::counting();
    for piece in before {
        counting.write(0, piece, |_, _| ());
    }
    if let Some(checkpoint) = counting.checkpoint() {
        let first = usize::try_from(checkpoint.first_row()).expect("there are few rows");
        assert!(rows(Terminal::resume(&checkpoint), after)[..] == whole[first..]);
    }
});
