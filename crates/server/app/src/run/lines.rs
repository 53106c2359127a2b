//! Output of steps as lines that can stand among those of others.

/// Bytes after which a line is shown in pieces: a step may print for ever without ending one.
const MAX_LINE_BYTES: usize = 16 << 10;

/// The beginning of a line that a step has not ended yet.
#[derive(Debug, Default)]
pub(crate) struct Partial(String);

impl Partial {
    /// Takes output in and gives the lines that are whole now.
    pub(crate) fn take(&mut self, output: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in output.split_inclusive('\n') {
            self.0.push_str(piece);
            if piece.ends_with('\n') {
                lines.extend(self.rest());
            }
            while self.0.len() > MAX_LINE_BYTES {
                let cut = self.0.floor_char_boundary(MAX_LINE_BYTES);
                let rest = self.0.split_off(cut);
                lines.push(shown(&std::mem::replace(&mut self.0, rest)));
            }
        }
        lines
    }

    /// Returns the unfinished line when no more output comes.
    pub(crate) fn rest(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| shown(&std::mem::take(&mut self.0)))
    }
}

/// Returns a line as a terminal would leave it: what a carriage return wrote over is gone, colours
/// stay, and nothing moves the cursor or changes the terminal.
pub(crate) fn shown(line: &str) -> String {
    cleaned(line, true)
}

/// Returns a line as [`shown`] does, without its colours.
pub(crate) fn without_colours(line: &str) -> String {
    cleaned(line, false)
}

fn cleaned(line: &str, keeps_colours: bool) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let line = line.rsplit('\r').next().unwrap_or(line);
    let mut clean = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\x1b' => {
                let colour = colour(&mut rest);
                if keeps_colours {
                    clean.push_str(&colour);
                }
            }
            '\t' => clean.push(char),
            char if char.is_control() => {}
            char => clean.push(char),
        }
    }
    clean
}

/// An escape sequence, if it does no more than change colours.
fn colour(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    if rest.next_if_eq(&'[').is_none() {
        rest.next();
        return String::new();
    }
    let mut sequence = "\x1b[".to_owned();
    for char in rest.by_ref() {
        sequence.push(char);
        if ('@'..='~').contains(&char) {
            return if char == 'm' { sequence } else { String::new() };
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole() {
        let mut partial = Partial::default();
        assert_eq!(partial.take("one\r\ntw"), ["one"]);
        assert_eq!(partial.take("o\n\nthree"), ["two", ""]);
        assert_eq!(partial.rest(), Some("three".to_owned()));
        assert_eq!(partial.rest(), None);
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let mut partial = Partial::default();
        let lines = partial.take(&"ä".repeat(MAX_LINE_BYTES));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].len() <= MAX_LINE_BYTES && partial.0.len() <= MAX_LINE_BYTES);
        assert_eq!(lines[0].len() + partial.0.len(), 2 * MAX_LINE_BYTES);
    }

    #[test]
    fn colours_can_be_left_out() {
        let line = "\x1b[1;31mred\x1b[0m and not\x1b[32m";
        assert_eq!(without_colours(line), "red and not");
    }

    #[test]
    fn nothing_but_colours_reaches_the_terminal() {
        for (text, expected) in [
            ("10%\r50%\r100%\r\n", "100%"),
            ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
            ("a\x1b[2Jb\x1b[10;3Hc", "abc"),
            ("a\x1b]", "a"),
            ("a\x1b[", "a"),
            ("a\x1b", "a"),
            ("bell\x07 tab\t.", "bell tab\t."),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
            assert!(!without_colours(text).contains('\x1b'), "{text:?}");
        }
        assert_eq!(without_colours("\x1b[1;31mred\x1b[0m\tx"), "red\tx");
    }
}
