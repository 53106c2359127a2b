//! What the shim says about itself. It goes to the container's own log, never into the build's: that
//! one carries what the process wrote and nothing else.

use std::{fmt, io::Write};

pub(crate) fn log(text: fmt::Arguments<'_>) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "airside-shim: {text}");
}
