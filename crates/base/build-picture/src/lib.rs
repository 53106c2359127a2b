//! A build as a picture: its public plan and its events in, a tree of steps out.
//!
//! ```text
//! public plan ─▶ nodes ─┐
//! events ───────────────┼─▶ BuildPicture ─▶ states and times of all nodes
//! times of the store ───┘
//! ```
//!
//! Events may come in any number of pieces, and events of output change nothing: their number does
//! not matter. The tree grows where a plan is known only later: the images of tasks, and the
//! substeps of `across`. The page, the live stream and the timeline share this fold.

mod event;
mod facts;
mod node;
mod parse;
mod picture;
mod states;

pub use facts::{StepError, StepFacts};
pub use node::{HookKind, PictureKind, PictureNode};
pub use picture::BuildPicture;
pub use states::{PictureSpan, PictureState, PictureStates};

#[cfg(test)]
mod tests;
