//! Serves HTTP/1.1 on a listener, with or without TLS, until a shutdown.
//!
//! ```text
//! listener ─▶ accept ─▶ a place (airside-limits) ─▶ TLS handshake ─▶ requests ─▶ caller's function
//! ```
//!
//! **Invariants:** a peer can keep a limited number of connections, and none of them for longer
//! than the timeouts say without sending a request; a connection beyond the limit takes the place
//! of the one that was silent longest, or is closed. After the shutdown no connection is accepted,
//! and answers under way have [`ServeOptions::drain`] to end. A failure of one connection is logged
//! at debug with its causes, and ends no other.
//!
//! [`text`], [`json`] and [`oci_error`] are the answers that all of these servers share.
//!
//! [`listen_address`] reads the address of a listener, as an option gives it.
//!
//! [`Authorities`] are certificates that an administrator trusts, for the servers' own requests.
//!
//! *Absent:* routes, HTTP/2 (the API has its own server for that), and clients.

mod address;
mod answer;
mod authorities;
mod body;
mod serve;

pub use self::{
    address::{AddressError, listen_address},
    answer::{json, oci_code, oci_error, text},
    authorities::{Authorities, AuthoritiesError},
    serve::{ServeOptions, serve},
};
