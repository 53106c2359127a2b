//! The `airside` command. Each subcommand is one file; this one only tells them apart.

mod clean;
mod completion;
mod doctor;
mod errors;
mod headings;
mod images;
mod k8s;
mod man;
mod node;
mod schema;
mod version;

use std::process::ExitCode;

use airside_app::{
    agent, enter_user_namespace,
    options::ServerOptions,
    run,
    server::{self, Mode},
    settings, validate, worker,
};
use clap::{CommandFactory as _, Parser, Subcommand};

use errors::{report, report_usage};
use headings::with_headings;

const UP_EXAMPLES: &str = "\
Examples:
  # Run everything on this machine; prints how to log in
  airside up

  # Also run steps in clusters, and serve other machines
  airside up --targets targets.yml \\
    --external-url http://ci.example.com:8080 --listen 0.0.0.0:8080";

const WEB_EXAMPLES: &str = "\
Examples:
  # Make a key and a user, then serve with steps in clusters
  openssl rand -hex 32 > key; echo admin:s3cret > users; chmod 600 key users
  airside web --encryption-key-file key --user-file users --targets targets.yml

  # Show the settings in effect and where each comes from
  airside web --config /etc/airside.yml --print-config";

const GETTING_STARTED: &str = "\
Getting started:
  airside run pipeline.yml   Run a pipeline on this machine, without a server
  airside up                 Run a server on this machine, then use `fly` as with Concourse

Run `airside <COMMAND> --help` for the options and examples of a command.";

#[derive(Parser)]
#[command(
    name = "airside",
    version = version::version(),
    about = "Concourse-compatible CI whose steps run as Kubernetes pods, or as containers on this machine",
    after_help = GETTING_STARTED
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a server and a worker on this machine, with generated keys
    ///
    /// The first start creates an encryption key, a password for the user `admin` and the database
    /// in the data directory, unless you provide them, and prints how to log in. Steps run in
    /// containers on this machine, and in the clusters of --targets.
    #[command(after_long_help = UP_EXAMPLES)]
    Up(Box<ServerOptions>),
    /// Run a server for production, with keys, users and workers of yours
    ///
    /// Unlike `airside up` it generates nothing: --encryption-key-file is required, and a way to
    /// log in (--user-file, --user, or an identity provider with an owner of team main). Steps run
    /// in the clusters of --targets and on machines that join with `airside agent`; on this machine
    /// only with --local-worker.
    #[command(after_long_help = WEB_EXAMPLES)]
    Web(Box<ServerOptions>),
    /// Run the jobs of a pipeline on this machine, without a server
    ///
    /// Builds run as on a server, and everything is removed afterwards. Ctrl-C aborts the builds,
    /// whose hooks then run; a second Ctrl-C ends them at once.
    #[command(
        after_help = run::EXIT_STATUS,
        after_long_help = format!("{}\n\n{}", run::EXAMPLES, run::EXIT_STATUS)
    )]
    Run(Box<run::Options>),
    /// Run an agent, which makes this machine a worker of a server
    ///
    /// The agent only dials out, to the server's hub (its --hub-listen); nothing needs to reach
    /// this machine. Its steps run in containers and have the requirements of `airside up`: root,
    /// or a delegated control group. A stopped or killed agent leaves its steps running and finds
    /// them again when it starts. See docs/agents.md.
    #[command(after_long_help = agent::EXAMPLES)]
    Agent(Box<agent::Options>),
    /// Manage the workers of a server, and the tokens that they join with
    ///
    /// Uses the login that `fly -t NAME login` saved.
    #[command(after_long_help = worker::EXAMPLES)]
    Worker(worker::Options),
    /// Check pipelines or task files without a server
    ///
    /// Exits with status 1 if a file has a problem.
    #[command(
        after_help = validate::NOTE,
        after_long_help = format!("{}\n\n{}", validate::EXAMPLES, validate::NOTE)
    )]
    Validate(validate::Options),
    /// Print the JSON Schema of pipelines or task files, for editors
    Schema(schema::Options),
    /// Print the Kubernetes manifests that a cluster needs to run steps
    #[command(subcommand)]
    K8s(k8s::K8s),
    /// Keep chosen images on the nodes of a cluster (ImageSets)
    ///
    /// The image system works without a server. `airside images install` prints all of its
    /// manifests, `airside images status` shows what it does. See docs/images.md.
    #[command(subcommand)]
    Images(images::Images),
    /// Run the node agent, which keeps images on a node of a cluster
    ///
    /// The agent has three parts, which run together: with --images it keeps the images of
    /// ImageSets on the node, with --mirror-registry it gives containerd a mirror of registries,
    /// and with --registry it brings the server's registry to the node's loopback.
    #[command(after_long_help = node::EXAMPLES)]
    Node(Box<node::Options>),
    /// Remove what killed servers and runs left on this machine
    ///
    /// After `kill -9` of a server or of `airside run`, containers, control groups, network rules
    /// and temporary directories may be left. Each start of `airside up`, `airside run` and
    /// `airside agent` removes what no installation owns any more; this command does it by hand and
    /// lists what it removed. Running servers are not affected.
    #[command(after_long_help = clean::EXAMPLES)]
    Clean(clean::Options),
    /// Show what this machine has and lacks to run steps
    ///
    /// Prints each requirement of local steps, and how to meet what is missing. Changes nothing on
    /// this machine.
    #[command(
        after_help = doctor::EXIT_STATUS,
        after_long_help = format!("{}\n\n{}", doctor::EXAMPLES, doctor::EXIT_STATUS)
    )]
    Doctor(doctor::Options),
    /// Print a shell completion script
    Completion(completion::Options),
    /// Print the manual page, or write the pages of all commands
    #[command(after_long_help = man::EXAMPLES)]
    Man(man::Options),
    /// Print the version, and the commit that it was built from
    Version,
}

impl Command {
    /// Returns true if a misspelt variable would be missed: the command does something on this
    /// machine, and has no log to warn in.
    fn tells_unknown_variables(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Validate(_) | Self::Worker(_) | Self::Clean(_) | Self::Doctor(_)
        )
    }
}

fn main() -> ExitCode {
    match run_part() {
        Some(code) => code,
        None => run_command(),
    }
}

/// Runs the part of the program that a server starts as a process of its own, if that is asked for:
/// `rt` makes a container, `puller` pulls or unpacks an image, `checker` answers checks. Steps wait
/// for them, so the options of all commands are not read first; and each begins with one thread.
fn run_part() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next()?.to_str()? {
        "rt" => Some(airside_runtime_local::helper::main(arguments)),
        "puller" => Some(airside_rootfs::puller::main(arguments)),
        "checker" => Some(airside_check_process::serve::main(arguments)),
        _ => None,
    }
}

/// Returns the command with headings above its subcommands.
fn command() -> clap::Command {
    with_headings(Arguments::command(), headings::TOP)
        .mut_subcommand("images", |images| with_headings(images, headings::IMAGES))
}

fn run_command() -> ExitCode {
    let read = settings::read::<Arguments>(command(), std::env::args_os().collect());
    let settings::Read {
        arguments,
        settings,
        variables,
    } = match read {
        Ok(read) => read,
        Err(settings::Error::Usage(error)) => return report_usage(&error),
        Err(error) => return report(Err(error.into())),
    };
    if arguments.command.tells_unknown_variables() {
        variables.tell_unknown();
    }
    match arguments.command {
        Command::Up(options) => {
            report(enter_user_namespace().and_then(|()| server::run(&options, &settings, Mode::Up)))
        }
        Command::Web(options) => report(server::run(&options, &settings, Mode::Web)),
        Command::Run(options) => run::run(*options),
        Command::Agent(options) => {
            report(agent::enter().and_then(|()| agent::run(&options, &variables)))
        }
        Command::Worker(options) => report(worker::run(&options)),
        Command::Validate(options) => validate::run(&options),
        Command::Schema(options) => report(schema::run(&options)),
        Command::K8s(command) => report(k8s::run(&command)),
        Command::Images(command) => report(images::run(&command)),
        Command::Node(options) => report(node::run(&options)),
        Command::Clean(options) => report(clean::run(&options)),
        Command::Doctor(options) => {
            doctor::run(&options).unwrap_or_else(|error| report(Err(error)))
        }
        Command::Man(options) => report(man::run(&options, settings::as_shown(command()))),
        Command::Version => report(version::run()),
        Command::Completion(options) => report(completion::run(&options, command())),
    }
}

#[cfg(test)]
mod tests;
