//! HTTP requests to other people's servers: blocking, and small, because the shim carries it into
//! every step (see decision 20).
//!
//! Servers fail in more ways than they succeed. Every wait has an end: for a connection, for
//! silence, for an answer that dribbles, for a server that asks to come back later. Every error
//! says which server did what. Nothing here knows what the requests are about.

mod address;
mod body;
mod client;
mod connect;
mod error;
mod given;
mod message;
mod nearby;
mod patience;
mod tls;

pub use address::{Address, encode};
pub use body::ResponseBody;
pub use client::Client;
pub use connect::refuses_on_loopback;
pub use error::Error;
pub use message::{Payload, Request, Response};
pub use nearby::{LINK_REFUSED, close_link, is_closed_link};
pub use patience::RequestTimeouts;
pub use tls::{ClientIdentity, Tls, Trust};
