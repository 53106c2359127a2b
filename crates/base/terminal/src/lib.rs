//! Turns the bytes that a step prints into rows of styled text, as a terminal would show them; no
//! I/O.
//!
//! A terminal here has no size: text goes on to the right, rows go on downward, and the cursor
//! reaches the last [`LIVE_ROWS`] of them. A row above those is *settled*: nothing changes it any
//! more, and it is given away. Rows are numbered as Concourse's UI numbers its lines, which has the
//! same few sequences in mind: carriage return, backspace, colours and other attributes, erasing a
//! line, moving the cursor, links. Every other sequence is dropped.
//!
//! ```text
//! bytes ── utf8 ──▶ text ──▶ screen ──▶ settled rows
//!                    └─ from ESC to its end: vte ─┘
//! ```
//!
//! A [`TerminalCheckpoint`] is small: it has no rows in it. A terminal that begins there tells
//! every row that begins behind it exactly as one that began with the first byte.
//!
//! All that is kept is bounded: [`LIVE_ROWS`] rows, each of [`MAX_COLUMNS`] characters,
//! [`MAX_STYLES`] styles and [`MAX_LINK_BYTES`] bytes of links.

mod parser;
mod row;
mod screen;
mod sgr;
mod style;
mod utf8;

pub use parser::{Terminal, TerminalCheckpoint};
pub use row::{MAX_COLUMNS, MAX_LINK_BYTES, MAX_STYLES, TerminalRow};
pub use screen::LIVE_ROWS;
pub use style::{TerminalAttributes, TerminalColor, TerminalStyle};
