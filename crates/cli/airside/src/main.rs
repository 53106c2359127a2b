//! The `airside` command. Each subcommand is one file; this one only tells them apart.

mod clean;
mod completion;
mod images;
mod k8s;
mod node;
mod schema;

use std::{ffi::OsString, process::ExitCode};

use airside_app::{
    agent, enter_user_namespace,
    options::ServerOptions,
    run,
    server::{self, Mode},
    settings, validate, worker,
};
use clap::{CommandFactory as _, Parser, Subcommand};

const UP_EXAMPLES: &str = "\
Examples:
  airside up
      everything on this machine; prints how to log in
  airside up --targets targets.yml --external-url http://ci.example.com:8080 --listen 0.0.0.0:8080
      the same, with Kubernetes workers and for other machines
";

const WEB_EXAMPLES: &str = "\
Examples:
  openssl rand -hex 32 > key; echo admin:s3cret > users; chmod 600 key users
  airside web --encryption-key-file key --user-file users --targets targets.yml
      a server for pods
  airside web --config /etc/airside.yml --print-config
      what a file comes to, and where each setting is from
";

#[derive(Parser)]
#[command(
    name = "airside",
    version,
    about = "Concourse-compatible CI whose steps are Kubernetes pods, or containers on this machine",
    after_help = "Start with `airside run pipeline.yml`, which needs no server; or with `airside up`, then use \
                  `fly` as you would with Concourse."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything in one process, with a worker on this machine; makes its own keys and password
    #[command(before_long_help = UP_EXAMPLES)]
    Up(Box<ServerOptions>),
    /// Runs a server as operators want it: keys and users are given, workers elsewhere
    #[command(before_long_help = WEB_EXAMPLES)]
    Web(Box<ServerOptions>),
    /// Runs the jobs of a pipeline on this machine, without a server
    #[command(before_long_help = run::EXAMPLES, after_help = run::ENDS)]
    Run(Box<run::Options>),
    /// Makes this machine a worker of a server elsewhere, which it dials
    #[command(before_long_help = agent::EXAMPLES, after_help = agent::NOTE)]
    Agent(Box<agent::Options>),
    /// Lets machines join a server as agents, and makes workers come and go
    #[command(before_long_help = worker::EXAMPLES)]
    Worker(worker::Options),
    /// Checks pipelines (or task files) without a server; fails if anything is wrong with one
    #[command(after_help = validate::NOTE)]
    Validate(validate::Options),
    /// Prints the JSON Schema of pipelines (or task files), for editors
    Schema(schema::Options),
    /// Prints what a cluster needs to know of Airside
    #[command(subcommand)]
    K8s(k8s::K8s),
    /// Keeps declared images on chosen nodes of a cluster
    #[command(subcommand)]
    Images(images::Images),
    /// Runs on each node of a cluster: brings the server's registry to the node's own loopback
    #[command(before_long_help = node::EXAMPLES)]
    Node(Box<node::Options>),
    /// Removes what killed servers and runs left on this machine
    #[command(before_long_help = clean::EXAMPLES)]
    Clean(clean::Options),
    /// Prints a script that completes this command's options, for a shell to read
    Completion(completion::Options),
    /// Makes and removes containers; called by the local runtime
    #[command(hide = true, disable_help_flag = true)]
    Rt {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Pulls or unpacks an image, confined; called by the local runtime
    #[command(hide = true, disable_help_flag = true)]
    Puller {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Answers checks, confined; called by the server
    #[command(hide = true, disable_help_flag = true)]
    Checker {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let read = settings::read::<Arguments>(Arguments::command(), std::env::args_os().collect());
    let settings::Read {
        arguments,
        settings,
    } = match read {
        Ok(read) => read,
        Err(settings::Error::Usage(error)) => error.exit(),
        Err(error) => return report(Err(error.into())),
    };
    match arguments.command {
        // Before any thread exists: containers are made by a single-threaded process.
        Command::Rt { args } => airside_runtime_local::helper::main(args),
        // Likewise: what confines itself has one thread.
        Command::Checker { args } => airside_check_process::serve::main(args),
        Command::Puller { args } => airside_rootfs::puller::main(args),
        Command::Up(options) => {
            report(enter_user_namespace().and_then(|()| server::run(&options, &settings, Mode::Up)))
        }
        Command::Web(options) => report(server::run(&options, &settings, Mode::Web)),
        Command::Run(options) => run::run(&options),
        Command::Agent(options) => report(agent::enter().and_then(|()| agent::run(&options))),
        Command::Worker(options) => report(worker::run(&options)),
        Command::Validate(options) => validate::run(&options),
        Command::Schema(options) => report(schema::run(&options)),
        Command::K8s(command) => report(k8s::run(&command)),
        Command::Images(command) => report(images::run(&command)),
        Command::Node(options) => report(node::run(&options)),
        Command::Clean(options) => report(clean::run(&options)),
        Command::Completion(options) => report(completion::run(&options, Arguments::command())),
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

#[cfg(test)]
mod tests;
