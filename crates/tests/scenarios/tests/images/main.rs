//! Images on the nodes of a real cluster: operator, node agents, admission and mirror.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod admission;
mod agent;
mod agent_disk;
mod agent_faults;
mod agent_order;
#[path = "../cluster/support/mod.rs"]
#[allow(dead_code, reason = "the tests of steps as pods use the rest")]
mod cluster_support;
mod deletion;
mod edits;
mod everything;
mod inside;
mod joining;
mod mirror;
mod operator;
mod operator_nodes;
mod policy;
mod prefetch;
mod scaling;
mod steps;
mod stopped;
mod support;
mod workloads;
