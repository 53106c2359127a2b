//! Whole paths on this machine: a real server, fly, and steps on the local runtime.
//!
//! Modules named `hostile_…` are tenants, steps, strangers and servers that mean harm.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod abort;
mod agent;
mod aws;
mod bad_input;
mod check_containers;
mod check_faults;
mod checks;
mod claim;
mod clean;
mod clock;
mod crash;
mod crash_kinds;
mod credentials;
mod examples;
mod execute;
mod fly_snapshots;
mod garbage;
mod get_cache;
mod git;
mod hijack;
mod hostile_across;
mod hostile_connections;
mod hostile_depth;
mod hostile_durations;
mod hostile_images;
mod hostile_quota;
mod hostile_redaction;
mod hostile_transfers;
mod hostile_webhooks;
mod images;
mod log;
mod outage;
mod output;
mod overlayfs;
mod parallel;
mod pulls;
mod registry;
mod resource_faults;
mod restart;
mod results;
mod run;
mod run_cache;
mod run_inputs;
mod run_keep;
mod run_options;
mod run_results;
mod run_watch;
mod scheduling;
mod shim_size;
mod steps_crash;
mod steps_flow;
mod steps_types;
mod steps_vars;
mod targets;
mod whole_path;
mod workers;
