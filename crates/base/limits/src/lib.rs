//! Limits on connections and transfers: their number at once, for each peer and overall, and which
//! of them give way.
//!
//! A stranger can open connections for nothing. [`Places`] gives each connection a place, few to
//! one peer, and takes a place away from the connection that has kept the server waiting longest
//! when another one wants in. [`Transfers`] does this for uploads and downloads, and runs each on a
//! thread of its own. [`Files`] says how many places the process's limit of open files allows for,
//! with enough left for the database, logs and steps.

mod activity;
mod files;
mod pace;
mod places;
mod transfers;

pub use activity::{Activity, ConnectionEnd, InFlight};
pub use files::{Files, files_of_steps};
pub use pace::TransferPace;
pub use places::{ConnectionPlace, Limits, Peer, Places};
pub use transfers::{Busy, Stopped, Transfers, Turn};
