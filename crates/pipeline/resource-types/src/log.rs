//! Lines for the build's log.

use std::io::Write;

/// Writes a line to the build log. An action does not fail because its log cannot be written.
pub(crate) fn say(log: &mut dyn Write, text: &str) {
    let _ = writeln!(log, "{text}");
}
