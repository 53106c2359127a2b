//! Lines for the build's log.

use std::io::Write;

/// A line for the build log. An action does not fail because nobody can read what it says.
pub(crate) fn say(log: &mut dyn Write, text: &str) {
    let _ = writeln!(log, "{text}");
}
