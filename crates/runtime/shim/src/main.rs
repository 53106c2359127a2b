//! The shim: first process of every step container.
//!
//! It dials out to the hub, claims its step, fetches the inputs, runs the process, streams its
//! output, uploads the outputs, reports how it went, and stays until the hub lets it leave.
//!
//! ```text
//!            ┌── control ── the one connection that lasts; reconnects for ever
//! hub ◄──────┤      ▲ reports (outbox)              │ the hub's commands (commands)
//!            │      │                               ▼
//!            │    output ◄── process ◄─────────── step ── the life of the step, stage after stage
//!            ├── volume ── one connection for each input and output ◄──┘
//!            └── hijack ── one connection for each process that a person runs beside the step's
//! ```
//!
//! `airside-shim resource <type> <check|in|out> [folder]` is the native resource types instead.
//! `airside-shim install <path>` copies the program; `airside-shim nothing` is the step of a
//! container that is there for guests alone: it ends at once. `airside-shim probe <file>` writes
//! down what containers on this machine have.

#![allow(
    unsafe_code,
    reason = "a step is started between fork and exec, by system calls without a safe wrapper"
)]

mod backoff;
mod commands;
mod confine;
mod connection;
mod control;
mod environment;
mod executable;
mod hijack;
mod identity;
mod install;
mod log;
mod memory;
mod outbox;
mod output;
mod ownership;
mod prepare;
mod probe;
mod process;
mod reaper;
mod root;
mod scratch;
mod spool;
mod step;
mod stream;
mod terminal;
mod users;
mod volume;

use std::{process::ExitCode, sync::Arc};

use crate::{
    connection::Dialer, control::Control, hijack::Hijacks, log::log, outbox::Outbox,
    reaper::Reaper, spool::Spool,
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((command, rest)) if command == "resource" => resource(rest),
        Some((command, [])) if command == "nothing" => ExitCode::SUCCESS,
        Some((command, rest)) if command == "install" => install::install(rest),
        Some((command, rest)) if command == "probe" => probe::probe(rest),
        Some((command, _)) => {
            log(format_args!(
                "there is no command {command:?}; without one, a step is claimed"
            ));
            ExitCode::from(2)
        }
        None => shim(),
    }
}

fn resource(args: &[String]) -> ExitCode {
    let status = airside_resource_types::main(
        args,
        &mut std::io::stdin().lock(),
        &mut std::io::stdout().lock(),
        &mut std::io::stderr().lock(),
    );
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn shim() -> ExitCode {
    identity::harden();
    let identity = match identity::take() {
        Ok(identity) => identity,
        Err(error) => {
            log(format_args!("{error}"));
            return ExitCode::from(step::REFUSED);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            log(format_args!("cannot start: {error}"));
            return ExitCode::from(step::REFUSED);
        }
    };
    let code = runtime.block_on(live(identity));
    // A fetch or upload may still be in a thread of its own; nothing waits for it.
    runtime.shutdown_background();
    code
}

async fn live(identity: identity::Identity) -> ExitCode {
    match begin(identity) {
        Ok(step) => step.live().await,
        Err(error) => {
            log(format_args!("cannot listen for signals: {error}"));
            ExitCode::from(step::REFUSED)
        }
    }
}

/// Joins the parts.
fn begin(identity: identity::Identity) -> std::io::Result<step::Step> {
    let outbox = Arc::new(Outbox::new(Spool::new(identity.state.clone())));
    let dialer = Arc::new(Dialer::new(&identity));
    let reaper = Reaper::start()?;
    let hijacks = Hijacks::new(
        dialer.clone(),
        outbox.clone(),
        identity.handle.clone(),
        reaper.clone(),
    );
    let (sender, commands) = commands::channel();
    let control = Control::new(
        identity.clone(),
        dialer.clone(),
        outbox.clone(),
        hijacks.clone(),
        sender,
    );
    let step = step::Step::new(identity, dialer, outbox, commands, reaper, hijacks)?;
    tokio::spawn(control.keep());
    Ok(step)
}
