//! `airside run`: the jobs of a pipeline on this machine, without a server.
//!
//! ```text
//! file ─▶ Config ─▶ Order ─▶ Session ── a build each ──▶ World (engine, hub, a worker)
//!                                └─ its events ─▶ Progress ─▶ View, table
//! ```
//!
//! Everything is made for this one run and gone afterwards. Versions are chosen here, not by a
//! scheduler: the newest there is, and for `passed` those that the jobs before used.

pub mod cache;
mod checkout;
mod folders;
mod inputs;
mod json;
mod junit;
mod keep;
mod lines;
mod names;
mod order;
mod privileged;
mod progress;
mod puts;
mod results;
mod secrets;
mod session;
mod steps;
mod stop;
mod table;
mod terminal;
mod variables;
mod view;
mod watch;
mod world;

use std::{collections::HashMap, path::PathBuf, process::ExitCode, sync::Arc};

use airside_config::Config;
use airside_model::BuildStatus;
use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value};

use crate::{
    logging,
    options::{IsolationArgs, LocalWorkerOptions, ServerOptions},
    printing::tell,
    server, validate,
};
use cache::{Cache, CacheOptions};
use folders::Folder;
use inputs::InputOptions;
use keep::KeepOptions;
use order::{Choice, Order};
use privileged::PrivilegeOptions;
use results::{ResultOptions, Results};
use secrets::SecretOptions;
use session::RunSession;
use stop::Stop;
use table::JobReport;
use view::View;
use watch::WatchOptions;
use world::World;

pub const EXAMPLES: &str = "\
Examples:
  # Run every job, each after the jobs that its inputs must have passed
  airside run ci.yml

  # Run one job, with the current directory as the content of resource `repo`
  airside run ci.yml -j unit --input repo=.

  # Give ((variables)) values; those of the secrets file are hidden in all output
  airside run ci.yml -v branch=main -l vars.yml --secrets-file secrets.yml

  # Take a secret from the environment variable TOKEN, and leave out all puts
  airside run ci.yml --secret TOKEN --no-put";

pub const EXIT_STATUS: &str = "\
Exit status:
  0  all builds succeeded
  1  a build failed
  2  a build errored or could not start, or the usage was wrong
  3  the run was aborted";

/// Errors, and warnings about how far steps are kept from the machine.
const LOG_LEVEL: &str = "error,airside_runtime_local::isolation=warn";

#[derive(Args)]
pub struct Options {
    /// Pipeline to run; `-` reads standard input
    file: PathBuf,

    /// Job to run, after those that its inputs must have passed. Can be repeated [default: every
    /// job]
    #[arg(short = 'j', long = "job", value_name = "JOB")]
    jobs: Vec<String>,

    /// Run only the jobs of --job, without the jobs that their inputs must have passed
    #[arg(long)]
    only: bool,

    /// Directory to copy as the content of a resource, which is then not fetched. Can be repeated
    #[arg(short = 'i', long = "input", value_name = "RESOURCE=DIR", value_parser = folders::parse)]
    inputs: Vec<Folder>,

    /// Maximum number of jobs that run at once [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    parallel: Option<u16>,

    /// Leave out all puts, and the steps that need their versions or artifacts
    #[arg(long)]
    no_put: bool,

    #[command(flatten)]
    privileges: PrivilegeOptions,

    /// Log level of the server's parts: debug, info, warn or error
    #[arg(long, value_name = "FILTER", default_value = LOG_LEVEL)]
    log_level: String,

    #[command(flatten)]
    variables: validate::Variables,
    #[command(flatten)]
    secrets: SecretOptions,
    #[command(flatten)]
    cache: CacheOptions,
    #[command(flatten)]
    workers: LocalWorkerOptions,
    #[command(flatten)]
    isolation: IsolationArgs,
    #[command(flatten, next_help_heading = "Inputs and results")]
    input: InputOptions,
    #[command(flatten)]
    watch: WatchOptions,
    #[command(flatten)]
    keep: KeepOptions,
    #[command(flatten)]
    results: ResultOptions,
}

impl Options {
    /// Returns the files that a run reads, but for its inputs.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.file.clone()];
        files.extend_from_slice(self.variables.files());
        files.extend(self.secrets.paths().cloned());
        files
    }
}

/// The ways in which a run ends, as exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Succeeded = 0,
    Failed = 1,
    Errored = 2,
    Aborted = 3,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Aborted => "aborted",
        }
    }
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        Self::from(end as u8)
    }
}

pub fn run(options: Options) -> ExitCode {
    let options = Arc::new(options);
    let ready = match read(&options) {
        Ok(ready) => ready,
        Err(words) => {
            tell(&format!("airside: {}", words.trim_end()));
            return End::Errored.into();
        }
    };
    let started = crate::enter_user_namespace()
        .and_then(|()| ServerOptions::of_args(["--log-level", &options.log_level]))
        .and_then(|options| logging::start(&options.observing))
        .and_then(|_| Results::open(&options.results));
    let ran = started.and_then(|results| server::on_threads(run_all(&options, ready, &results)));
    match ran {
        Ok(end) => end.into(),
        Err(error) => {
            tell(&format!("airside: {error:#}"));
            End::Errored.into()
        }
    }
}

/// The pipeline, jobs and secrets that a run begins with.
struct Ready {
    config: Config,
    order: Order,
    secrets: Map<String, Value>,
    cache: Option<Cache>,
}

/// Reads the pipeline, its jobs and secrets. Fails with everything that is wrong with them. Blocks,
/// for as long as a person thinks about privileged steps.
fn read(options: &Options) -> Result<Ready, String> {
    if options.only && options.jobs.is_empty() {
        return Err("--only needs --job, which chooses the jobs".to_owned());
    }
    let config = validate::pipeline(&options.file, &options.variables)?;
    let choice = match (options.jobs.as_slice(), options.only) {
        ([], _) => Choice::All,
        (jobs, true) => Choice::Only(jobs),
        (jobs, false) => Choice::WithUpstream(jobs),
    };
    let order = Order::new(&config, choice)?;
    let secrets = options.secrets.read()?;
    // What is left out needs nothing.
    let rest = if options.no_put {
        puts::without_puts(&config)?
    } else {
        config.clone()
    };
    let mut problems = folders::problems(&rest, &order, &options.inputs);
    problems.extend(variables::problem(&rest, &order, &options.inputs, &secrets));
    problems.extend(options.watch.problem(&options.file));
    problems.extend(options.keep.problem());
    problems.extend(options.results.problem());
    if !problems.is_empty() {
        return Err(problems.join("\nairside: "));
    }
    options.privileges.check(&rest, &order, &options.inputs)?;
    Ok(Ready {
        config,
        order,
        secrets,
        cache: options.cache.open(&options.file)?,
    })
}

async fn run_all(options: &Arc<Options>, ready: Ready, results: &Results) -> Result<End> {
    let stop = Stop::on_signals()?;
    if options.watch.is_wanted() {
        return watch::run(options, &stop, results).await;
    }
    run_once(options, ready, &stop, results).await
}

async fn run_once(options: &Options, ready: Ready, stop: &Stop, results: &Results) -> Result<End> {
    let Ready {
        config,
        order,
        secrets,
        cache,
    } = ready;
    let world = World::open(options, secrets, cache).await?;
    let view = View::new();
    let ran = async {
        world.check_workers()?;
        let pipeline = world.set_pipeline(&name(&options.file), &config).await?;
        let mut folders = HashMap::new();
        for folder in &options.inputs {
            let copied = world.copy_input(folder, &config, &options.input).await?;
            folders.insert(folder.resource.clone(), copied);
        }
        let (json, aborted) = (results.json.as_ref(), stop.asked.clone());
        let session = RunSession::new(&world, &config, pipeline, &view, folders, json, aborted);
        let session = session.without_puts(options.no_put);
        session.run(order, max_parallel(options)).await
    };
    let reports = tokio::select! {
        reports = ran => Some(reports),
        () = view.tick() => None,
        () = stop.at_once.cancelled() => None,
    };
    view.finish();
    let end = match &reports {
        _ if stop.asked.is_cancelled() => End::Aborted,
        Some(Ok(reports)) => end(reports),
        _ => End::Errored,
    };
    let looked = match &reports {
        Some(Ok(reports)) => {
            view.print_text(&format!("\n{}", table::table(reports)));
            look_inside(options, &world, reports, stop).await
        }
        _ => Ok(()),
    };
    let closed = world.close().await;
    let reports = reports.transpose()?.unwrap_or_default();
    results.finish(end, &reports)?;
    looked.and(closed)?;
    Ok(end)
}

/// Opens shells in steps that failed, if that is wanted. The builds have ended: to be stopped here
/// is to leave the shell.
async fn look_inside(
    options: &Options,
    world: &World,
    reports: &[JobReport],
    stop: &Stop,
) -> Result<()> {
    if !options.keep.is_wanted() || stop.asked.is_cancelled() {
        return Ok(());
    }
    keep::offer_shells(world, reports, &stop.asked).await
}

fn max_parallel(options: &Options) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    options.parallel.map_or_else(processors, usize::from)
}

/// Returns the name of the pipeline: that of its file, with characters that names may not have
/// replaced.
fn name(file: &std::path::Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = stem.to_lowercase().chars().map(plain).collect();
    match name.trim_matches(['-', '.', '_']) {
        "" => "pipeline".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the worst end of the jobs. A skipped job does not count: another caused it.
fn end(reports: &[JobReport]) -> End {
    let statuses = || reports.iter().map(JobReport::status);
    let any = |wanted| statuses().any(|status| status == wanted);
    if any(BuildStatus::Errored) {
        End::Errored
    } else if any(BuildStatus::Failed) {
        End::Failed
    } else if any(BuildStatus::Aborted) {
        End::Aborted
    } else {
        End::Succeeded
    }
}

#[cfg(test)]
mod tests;
