//! The steps: one file a kind.

pub(crate) mod artifact_input;
pub(crate) mod artifact_output;
pub(crate) mod get;
pub(crate) mod put;
pub(crate) mod resource;
pub(crate) mod task;
