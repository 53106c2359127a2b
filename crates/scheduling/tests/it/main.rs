//! The driver over a real database; builds are run by a stand-in that ends them as it is told.

mod chain;
mod crash;
mod rules;
mod scale;
mod stage;
