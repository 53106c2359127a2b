//! The API over real sockets, with a real store and real logs.

mod access;
mod builds;
mod containers;
mod events;
mod login;
mod pipelines;
mod support;
