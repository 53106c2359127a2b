//! The API over real sockets, with a real store and real logs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod access;
mod agents;
mod artifacts;
mod badges;
mod browser;
mod builds;
mod containers;
mod control;
mod events;
mod faults;
mod lines;
mod live;
mod login;
mod outside;
mod pipelines;
mod server;
mod support;
mod teams;
mod versions;
mod web;
mod web_build;
mod web_dashboard;
mod web_lists;
mod workers;
