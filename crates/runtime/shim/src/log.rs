//! The shim's messages about itself. They go to the container's own log, never into the build's:
//! that one carries the output of the process and nothing else.

use std::{fmt, io::Write};

pub(crate) fn log(text: fmt::Arguments<'_>) {
    // Without standard error the message is lost.
    let _ = writeln!(std::io::stderr(), "airside-shim: {text}");
}
