//! The rules themselves, by what they are about. Each takes a bench of its own.

pub mod causes;
pub mod claims;
pub mod images;
pub mod isolation;
pub mod limits;
pub mod mounting;
pub mod placing;
pub mod processes;
pub mod resuming;
pub mod stopping;
pub mod volumes;
