//! The `airside` command. Each subcommand is one file; this one only tells them apart.

mod data;
mod keeping;
mod logging;
mod proofs;
mod schema;
mod up;
mod validate;
mod workers;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "airside",
    version,
    about = "Concourse-compatible CI whose steps are Kubernetes pods, or containers on this machine",
    after_help = "Start with `airside up`, then use `fly` as you would with Concourse."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything in one process: API, engine, hub and a worker on this machine
    Up(Box<up::Options>),
    /// Checks pipelines (or task files) without a server; fails if anything is wrong with one
    Validate(validate::Options),
    /// Prints the JSON Schema of pipelines (or task files), for editors
    Schema(schema::Options),
    /// Makes and removes containers; called by the local runtime
    #[command(hide = true, disable_help_flag = true)]
    Rt {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        // Before any thread exists: containers are made by a single-threaded process.
        Command::Rt { args } => airside_runtime_local::helper::main(args),
        Command::Up(options) => report(up::run(*options)),
        Command::Validate(options) => validate::run(&options),
        Command::Schema(options) => report(schema::run(&options)),
    }
}

fn report(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airside: {error:#}");
            ExitCode::FAILURE
        }
    }
}
