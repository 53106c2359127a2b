//! Reads YAML the way Concourse does and keeps the place of every value in the file.
//!
//! Pipelines lean on the quirks of the reader that Concourse uses (YAML 1.1 scalars, merge keys
//! that overwrite, duplicate keys, only the first document), so those quirks are the contract here.
//! The golden documents under `tests/golden` record what that reader makes of each.
//!
//! ```text
//! text ─ events ─▶ document ─ construct ─▶ Node ─ json ─▶ serde_json::Value
//!        (parser)   (anchors)  (aliases, merges,
//!                               scalars)
//! ```
//!
//! **Invariant:** no input panics, and no input yields a tree deeper than [`MAX_DEPTH`] or much
//! larger than itself. This crate knows nothing of pipelines and does no I/O.

mod construct;
mod document;
mod duplicates;
mod error;
mod events;
mod json;
mod margins;
mod node;
mod number;
mod scalar;
mod scalars;

pub use duplicates::{DuplicateKey, duplicate_keys};
pub use error::{Error, ErrorKind};
pub use node::{Key, Node, Position, Span, Value};
pub use number::json_text as float_json_text;
pub use scalars::plain_scalars;

/// Deepest nesting of lists and maps, aliases expanded. Deep enough for any pipeline, and well
/// below the 128 levels at which JSON readers give up on what we store.
pub const MAX_DEPTH: usize = 100;

/// Reads the first document of `text`. An empty text is `null`.
pub fn parse(text: &str) -> Result<Node, Error> {
    let document = document::Document::compose(text)?;
    construct::construct(&document)
}

/// True if a text without quotes is read as itself, and not as a number, say.
pub fn is_text(text: &str) -> bool {
    let read = parse(text).and_then(|node| node.to_json());
    read.is_ok_and(|value| value == serde_json::Value::String(text.to_owned()))
}
