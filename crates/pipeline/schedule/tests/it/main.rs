//! The scheduler by its rules: tables of cases, random worlds against a slow solver, and sizes.

#![allow(clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod brute;
mod cases;
mod checks;
mod events;
mod flow;
mod graph;
mod passes;
mod property;
mod scale;
mod view;
mod world;
