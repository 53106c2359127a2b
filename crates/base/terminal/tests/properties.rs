//! Any output: windows joined are the whole, wherever pieces end, and nothing grows without bound.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_terminal::{LIVE_ROWS, MAX_COLUMNS, Terminal, TerminalCheckpoint, TerminalRow};
use proptest::{
    collection::vec,
    prelude::{Strategy, any, prop_oneof},
    prop_assert, prop_assert_eq, proptest,
    sample::select,
};

/// Pieces of output that a terminal takes notice of, and whatever else.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: &[&[u8]] = &[
        b"\n",
        b"\r",
        b"\r\n",
        b"\x08",
        b"text ",
        "wörter ".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\x1b[A",
        b"\x1b[3A",
        b"\x1b[250A",
        b"\x1b[2B",
        b"\x1b[99B",
        b"\x1b[5C",
        b"\x1b[20D",
        b"\x1b[7G",
        b"\x1b[E",
        b"\x1b[2F",
        b"\x1b[K",
        b"\x1b[1K",
        b"\x1b[2K",
        b"\x1b7",
        b"\x1b8",
        b"\x1b[31m",
        b"\x1b[1;4m",
        b"\x1b[0m",
        b"\x1b[38;5;",
        b"100m",
        b"\x1b",
        b"[",
        b"\x1b]",
        b"\x1b]8;;https://a/b\x1b\\",
        b"\x1b]8;;\x07",
        b"\x1b_",
        b"\x1bP",
        b"\x18",
        b"\xe2\x82",
        b"\xac",
        b"\xff",
        b"\x1b[?25l",
        b"\x1bM",
        b"\x1bD",
        b"\x1bE",
    ];
    let lines = (1..300_usize).prop_map(|count| b"line\n".repeat(count));
    prop_oneof![
        8 => select(known.to_vec()).prop_map(<[u8]>::to_vec),
        2 => vec(any::<u8>(), 0..20),
        1 => lines,
    ]
}

struct Shown {
    rows: Vec<(u64, TerminalRow)>,
    checkpoints: Vec<(usize, TerminalCheckpoint)>,
}

/// Writes pieces, and notes a checkpoint after each where there can be one.
fn show(mut terminal: Terminal, pieces: &[Vec<u8>]) -> Shown {
    let (mut rows, mut checkpoints) = (Vec::new(), Vec::new());
    for (index, piece) in pieces.iter().enumerate() {
        terminal.write(0, piece, |number, row| rows.push((number, row.clone())));
        assert!(terminal.live().count() <= LIVE_ROWS);
        checkpoints.extend(
            terminal
                .checkpoint()
                .map(|checkpoint| (index + 1, checkpoint)),
        );
    }
    terminal.end(|number, row| rows.push((number, row.clone())));
    rows.extend(terminal.live().map(|(number, row)| (number, row.clone())));
    Shown { rows, checkpoints }
}

proptest! {
    #[test]
    fn rows_have_their_numbers_and_no_control_characters(pieces in vec(piece(), 0..60)) {
        let shown = show(Terminal::default(), &pieces);
        for (index, (number, row)) in shown.rows.iter().enumerate() {
            prop_assert_eq!(*number, index as u64);
            let text = row.text();
            prop_assert!(text.chars().count() <= MAX_COLUMNS as usize);
            prop_assert!(text.chars().all(|character| character == '\t' || !character.is_control()));
            let joined: String = row.spans().map(|(text, _)| text).collect();
            prop_assert_eq!(joined, text);
        }
    }

    #[test]
    fn windows_joined_are_the_whole(pieces in vec(piece(), 0..60)) {
        let whole = show(Terminal::default(), &pieces);
        for (at, checkpoint) in &whole.checkpoints {
            let window = show(Terminal::resume(checkpoint), &pieces[*at..]);
            let first = usize::try_from(checkpoint.first_row()).unwrap();
            prop_assert_eq!(&window.rows[..], &whole.rows[first..]);
            // Its checkpoints are those of the whole, too.
            let later = whole.checkpoints.iter().filter(|(index, _)| index > at);
            let later: Vec<_> = later.map(|(index, checkpoint)| (index - at, checkpoint.clone())).collect();
            prop_assert_eq!(window.checkpoints, later);
        }
    }

    #[test]
    fn a_terminal_that_counts_has_the_same_checkpoints(pieces in vec(piece(), 0..60)) {
        let whole = show(Terminal::default(), &pieces);
        let counted = show(Terminal::counting(), &pieces);
        prop_assert!(counted.rows.is_empty());
        prop_assert_eq!(counted.checkpoints, whole.checkpoints);
    }

    #[test]
    fn rows_that_are_kept_later_are_those_of_the_whole(pieces in vec(piece(), 0..60), at in 0..60_usize) {
        let whole = show(Terminal::default(), &pieces);
        let (before, after) = pieces.split_at(at.min(pieces.len()));
        let mut terminal = Terminal::default();
        for piece in before {
            terminal.write(0, piece, |_, _| ());
        }
        terminal.drop_rows(true);
        let first = usize::try_from(terminal.rows()).unwrap();
        let later = show(terminal, after);
        prop_assert_eq!(&later.rows[..], &whole.rows[first..]);
    }

    #[test]
    fn pieces_are_shown_as_the_whole(pieces in vec(piece(), 0..60)) {
        let cut = show(Terminal::default(), &pieces);
        let whole = show(Terminal::default(), &[pieces.concat()]);
        prop_assert_eq!(cut.rows, whole.rows);
    }

    #[test]
    fn a_settled_row_does_not_change(pieces in vec(piece(), 0..60)) {
        let (mut terminal, mut settled) = (Terminal::default(), 0);
        for piece in &pieces {
            terminal.write(0, piece, |_, _| settled += 1);
            prop_assert_eq!(terminal.settled(), settled);
        }
    }
}
