//! Turns the bytes that a step prints into rows of styled text, as a terminal would show them; no I/O.
