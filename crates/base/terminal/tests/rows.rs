//! Output, and the rows that a terminal shows of it.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_terminal::{
    LIVE_ROWS, MAX_COLUMNS, MAX_LINK_BYTES, MAX_STYLES, Terminal, TerminalColor, TerminalRow,
    TerminalStyle,
};

fn rows_of(pieces: &[&[u8]]) -> Vec<TerminalRow> {
    let (mut terminal, mut rows) = (Terminal::default(), Vec::new());
    let mut settle = |number, row: &TerminalRow| {
        assert_eq!(number, rows.len() as u64);
        rows.push(row.clone());
    };
    for (time, piece) in (1..).zip(pieces) {
        terminal.write(time, piece, &mut settle);
    }
    terminal.end(&mut settle);
    rows.extend(terminal.live().map(|(_, row)| row.clone()));
    assert_eq!(terminal.rows(), rows.len() as u64);
    rows
}

fn texts(output: &str) -> Vec<String> {
    let rows = rows_of(&[output.as_bytes()]);
    rows.iter().map(TerminalRow::text).collect()
}

#[track_caller]
fn shows(output: &str, rows: &[&str]) {
    assert_eq!(texts(output), rows, "{output:?}");
}

/// A style in short: colours, attributes, link.
fn short(style: &TerminalStyle) -> String {
    let color = |color| match color {
        None => String::new(),
        Some(TerminalColor::Indexed(number)) => number.to_string(),
        Some(TerminalColor::Rgb(red, green, blue)) => format!("#{red:02x}{green:02x}{blue:02x}"),
    };
    let (front, back) = (color(style.foreground), color(style.background));
    let link = style.link.as_deref().unwrap_or_default();
    format!("{front}/{back}/{}/{link}", style.attributes.bits())
}

#[track_caller]
fn styled(output: &str, spans: &[(&str, &str)]) {
    let rows = rows_of(&[output.as_bytes()]);
    let found: Vec<(String, String)> = rows
        .iter()
        .flat_map(TerminalRow::spans)
        .map(|(text, style)| (text, short(&style)))
        .collect();
    let spans: Vec<(String, String)> = spans
        .iter()
        .map(|(text, style)| ((*text).to_owned(), (*style).to_owned()))
        .collect();
    assert_eq!(found, spans, "{output:?}");
}

#[test]
fn lines_are_rows() {
    shows("", &[]);
    shows("\n", &[""]);
    shows("a", &["a"]);
    shows("a\n", &["a"]);
    shows("a\n\nb", &["a", "", "b"]);
    shows("a\r\nb\r\n", &["a", "b"]);
    shows("a\tb", &["a\tb"]);
    shows("a\0\u{7}\u{7f}\u{85}b", &["ab"]);
}

#[test]
fn a_row_is_written_over() {
    shows("10%\r55%\r100%\n", &["100%"]);
    shows("loading\rdone", &["doneing"]);
    shows("loading\r\x1b[Kdone", &["done"]);
    shows("loading\x1b[2K\rdone", &["done"]);
    shows("loading\x1b[2Kdone", &["       done"]);
    shows("loading\x1b[3D\x1b[1Kx", &["    xng"]);
    shows("|\u{8}/\u{8}-", &["-"]);
    shows("äöü\x1b[2Gx", &["äxü"]);
    shows("a\x1b[3Cb", &["a   b"]);
    shows("\u{8}\x1b[99Da", &["a"]);
}

#[test]
fn the_cursor_moves_between_rows() {
    shows("a\nb\nc\x1b[2Ax", &["ax", "b", "c"]);
    shows(
        "one\ntwo\n\x1b[2F\x1b[KONE\x1b[E\x1b[KTWO\nend",
        &["ONE", "TWO", "end"],
    );
    shows("a\nb\n\x1b[2A1\x1b[2B2", &["1", "b", " 2"]);
    shows("a\x1b7\nb\x1b8c", &["ac", "b"]);
    shows("a\x1b[s\nb\x1b[uc\x1bMd\x1bEe", &["acd", "e"]);
    // Rows are not made by moving.
    shows("a\x1b[65535Bb\x1b[9Bc", &["a", " b", "  c"]);
    shows("\x1b[5Aa", &["a"]);
}

#[test]
fn the_cursor_goes_no_farther_up_than_the_live_rows() {
    let output = format!("{}\x1b[999Ax", "row\n".repeat(LIVE_ROWS + 10));
    let rows = texts(&output);
    assert_eq!(rows.len(), LIVE_ROWS + 10);
    assert_eq!(rows.iter().position(|row| row == "xow"), Some(10));
}

#[test]
fn colours_and_attributes_are_spans() {
    styled("a", &[("a", "//0/")]);
    styled("\x1b[31ma\x1b[0mb", &[("a", "1//0/"), ("b", "//0/")]);
    styled(
        "\x1b[1;4;7ma\x1b[22;24mb\x1b[mc",
        &[("a", "//25/"), ("b", "//16/"), ("c", "//0/")],
    );
    styled("\x1b[2;3;9ma\x1b[23;29mb", &[("a", "//38/"), ("b", "//2/")]);
    styled(
        "\x1b[97;104ma\x1b[39;49mb",
        &[("a", "15/12/0/"), ("b", "//0/")],
    );
    styled(
        "\x1b[38;5;208ma\x1b[48;2;1;2;300mb",
        &[("a", "208//0/"), ("b", "208/#0102ff/0/")],
    );
    styled(
        "\x1b[38:2::1:2:3ma\x1b[48:5:7mb",
        &[("a", "#010203//0/"), ("b", "#010203/7/0/")],
    );
    styled("\x1b[4:3ma\x1b[4:0mb", &[("a", "//8/"), ("b", "//0/")]);
    // A style goes on in the next row, and what is the same is one span.
    styled("\x1b[32ma\x1b[32mb\nc", &[("ab", "2//0/"), ("c", "2//0/")]);
    styled("\x1b[31maaa\r\x1b[0mb", &[("b", "//0/"), ("aa", "1//0/")]);
    // Colours that are none change nothing.
    styled("\x1b[31;38;9ma\x1b[38ma", &[("aa", "1//0/")]);
}

#[test]
fn links_are_followed_to_the_web_only() {
    styled(
        "\x1b]8;id=1;https://a/?b;c\x1b\\text\x1b]8;;\x1b\\.",
        &[("text", "//0/https://a/?b;c"), (".", "//0/")],
    );
    styled(
        "\x1b]8;;http://a\x07text\x1b]8;;\x07.",
        &[("text", "//0/http://a"), (".", "//0/")],
    );
    styled(
        "\x1b]8;;javascript:alert(1)\x07text\x1b]8;;\x07",
        &[("text", "//0/")],
    );
    // Colours that end do not end a link.
    styled(
        "\x1b]8;;http://a\x07\x1b[1ma\x1b[0mb",
        &[("a", "//1/http://a"), ("b", "//0/http://a")],
    );
    // A link that never got its end is none.
    styled("\x1b]8;;http://a\ntext", &[("text", "//0/")]);
}

#[test]
fn other_sequences_are_dropped() {
    shows("a\x1b[2J\x1b[H\x1b[5;5Hb", &["ab"]);
    shows("a\x1b[?25l\x1b[?1049h\x1b[>4;1mb\x1b[?25h", &["ab"]);
    shows("\x1b]0;title\x07a\x1b]52;c;c2VjcmV0\x1b\\b", &["ab"]);
    shows("a\x1bP1$r0m\x1b\\b\x1b_apc\x1b\\c\x1b(Bd", &["abcd"]);
    shows("a\x1b[1<2mb\x1b[31", &["ab"]);
    shows("a\x1b[1;2\x18b", &["ab"]);
    // What a program of a person would answer or do is not done.
    shows("a\x1b[6n\x1b[c\x1bcb", &["ab"]);
}

#[test]
fn a_sequence_ends_with_its_line_at_the_latest() {
    shows(
        "a\x1b]0;never ends\nb\x1b[31\nc\x1b\nd",
        &["a", "b", "c", "d"],
    );
    shows("a\x1b_never\nb", &["a", "b"]);
    let long = format!("a\x1bX{}", "é".repeat(5000));
    let shown = texts(&long).concat().chars().count();
    assert_eq!(shown, 1 + 5000 - (4096 - 2) / 2);
}

#[test]
fn a_sequence_may_come_in_pieces() {
    let output = "a\x1b[1;31mb\x1b]8;;https://é\x1b\\c€\x1b]8;;https://x\x1b\\d\x1b[2;3\ne";
    let whole = rows_of(&[output.as_bytes()]);
    for size in 1..output.len() {
        let mut terminal = Terminal::default();
        for piece in output.as_bytes().chunks(size) {
            terminal.write(1, piece, |_, _| {});
        }
        let rows: Vec<TerminalRow> = terminal.live().map(|(_, row)| row.clone()).collect();
        assert_eq!(rows, whole, "{size}");
    }
}

#[test]
fn what_is_not_utf8_is_replaced() {
    let rows = rows_of(&[b"a\xff\xfeb\xe2\x82", b"\xac\xe2\x82", b"\nc\xf0"]);
    let rows: Vec<String> = rows.iter().map(TerminalRow::text).collect();
    assert_eq!(rows, ["a\u{fffd}\u{fffd}b€\u{fffd}", "c\u{fffd}"]);
}

#[test]
fn a_row_has_the_time_of_what_was_written_last() {
    let rows = rows_of(&[b"a\nb", b"b\n\n", b"c\r", b"d\x1b[4A", b"x\x1b[9B\n"]);
    let times: Vec<i64> = rows.iter().map(TerminalRow::time).collect();
    // Later changes of rows above the last one keep their time.
    assert_eq!(times, [1, 2, 2, 4, 5]);
}

#[test]
fn a_long_row_is_cut_and_says_so() {
    let most = MAX_COLUMNS as usize;
    let rows = rows_of(&["é".repeat(most + 7).as_bytes(), b"12\rab"]);
    assert_eq!(rows[0].cut(), 9);
    assert_eq!(rows[0].text().chars().count(), most);
    assert!(rows[0].text().starts_with("abéé"));
    let rows = rows_of(&[
        "x".repeat(most + 7).as_bytes(),
        b"\r\x1b[2Ky\n",
        b"\x1b[65535Cz",
    ]);
    assert_eq!((rows[0].cut(), rows[0].text().as_str()), (0, "y"));
    assert_eq!((rows[1].cut(), rows[1].text().trim_start()), (0, "z"));
}

#[test]
fn moving_to_the_right_makes_few_blanks() {
    let rows = texts("\x1b[65535Ca\x1b[9Cb\ra\x1b[1023Cc\n\x1b[3Cd");
    assert_eq!(rows[0].len(), 1024 + 2);
    assert!(
        rows[0].starts_with("a   ") && rows[0].ends_with(" cb"),
        "{rows:?}"
    );
    assert_eq!(rows[1], "   d");
}

#[test]
fn a_row_keeps_so_many_styles_and_links() {
    let colors = (0..MAX_STYLES as u32 + 100)
        .map(|number| format!("\x1b[38;2;1;{};{}mx", number / 256, number % 256));
    let rows = rows_of(&[colors.collect::<String>().as_bytes()]);
    assert_eq!(rows[0].spans().count(), MAX_STYLES);
    assert_eq!(rows[0].text().len(), MAX_STYLES + 100);

    let links = (0..50).map(|number| format!("\x1b]8;;http://{number}/{}\x07x", "a".repeat(900)));
    let rows = rows_of(&[links.collect::<String>().as_bytes()]);
    let bytes = rows[0]
        .spans()
        .filter_map(|(_, style)| style.link)
        .map(|link| link.len());
    let bytes: usize = bytes.sum();
    assert!(
        bytes <= MAX_LINK_BYTES && bytes > MAX_LINK_BYTES / 2,
        "{bytes}"
    );
}

#[test]
fn moves_over_a_million_lines_are_harmless() {
    let moves =
        "\x1b[65535B\x1b[65535C\x1b[65535A\x1b[65535B\x1b7\x1b8\x1b[1000000E".repeat(100_000);
    let (mut terminal, mut settled) = (Terminal::default(), 0);
    terminal.write(1, moves.as_bytes(), |_, _| settled += 1);
    assert_eq!((terminal.rows(), settled), (0, 0));
    terminal.write(2, b"a\n", |_, _| settled += 1);
    assert_eq!((terminal.rows(), settled), (1, 0));
}
