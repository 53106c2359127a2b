//! Faults of a peer, and their effect on the hub. Real parts; the peer is made by hand.

#![allow(clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod claims;
mod hijacks;
mod panics;
mod stand;
mod strangers;
mod uploads;
