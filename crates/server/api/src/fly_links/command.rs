//! A `fly` command line that is safe to paste into a shell.

use std::fmt;

/// Longest word that a page shows.
const MAX_WORD_BYTES: usize = 2048;

/// A command of `fly` with its options.
pub(super) struct Command(String);

impl Command {
    pub(super) fn new(name: &'static str) -> Self {
        Self(format!("fly -t TARGET {name}"))
    }

    /// Adds an option. A value that [`shell_word`] refuses is left out.
    pub(super) fn option(mut self, name: &str, value: &str) -> Self {
        if let Some(word) = shell_word(value) {
            self.0.push_str(&format!(" {name} {word}"));
        }
        self
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Quotes a word so that a shell takes it as it is. Refuses words that would be read as an option,
/// are very long, or have characters that a reader of the page does not see as they are.
pub(super) fn shell_word(text: &str) -> Option<String> {
    let is_visible = |c: char| c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@".contains(c);
    let is_refused = text.is_empty() || text.len() > MAX_WORD_BYTES || text.starts_with('-');
    if is_refused || !text.chars().all(is_visible) {
        None
    } else if text.chars().all(is_plain) {
        Some(text.to_owned())
    } else {
        Some(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        for (text, expected) in [
            ("release/unit", Some("release/unit")),
            ("größe", Some("größe")),
            ("a b", Some("'a b'")),
            ("p/branch:\"x\"", Some("'p/branch:\"x\"'")),
            ("a'; rm -rf ~ #", Some(r"'a'\''; rm -rf ~ #'")),
            ("$(id)", Some("'$(id)'")),
            ("--help", None),
            ("", None),
            ("a\nb", None),
            ("a\u{202e}b", None),
        ] {
            assert_eq!(shell_word(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(shell_word(&"a".repeat(MAX_WORD_BYTES + 1)), None);
    }

    #[test]
    fn an_option_is_a_name_and_a_word() {
        let command = Command::new("watch")
            .option("-j", "a b/c")
            .option("-b", "1");
        assert_eq!(command.to_string(), "fly -t TARGET watch -j 'a b/c' -b 1");
    }
}
