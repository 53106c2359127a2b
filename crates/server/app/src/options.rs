//! The options of `airside up` and `airside web`, in groups.
//!
//! A field here is an option, a variable and a key of the configuration file at once, under one
//! name: `database-url` is `--database-url`, `AIRSIDE_DATABASE_URL` and `database-url:` (see
//! `settings`). An option must therefore not be `required`, nor `requires` or conflict with
//! another: the code that uses the value checks that. `hide_env_values` marks what is secret and is
//! never shown.

mod checking;
mod collecting;
mod connectors;
mod control;
mod credentials;
mod identity;
mod isolation;
mod keeping;
mod keys;
mod limits;
mod listening;
mod observing;
mod scheduling;
mod workers;

use std::{path::PathBuf, time::Duration};

use airside_store::DatabaseUrl;
use anyhow::{Context, Result, bail};
use clap::{Args, Command, FromArgMatches as _};

pub(crate) use identity::Identity;
pub(crate) use isolation::IsolationArgs;
pub(crate) use keys::Keys;
pub(crate) use listening::Listening;
pub use observing::{LogFormat, Observing};
pub use workers::find_shim;
pub(crate) use workers::{LocalWorkerOptions, WorkerOptions};

use crate::data::DataFolder;
use checking::CheckingOptions;
use collecting::CollectingOptions;
use connectors::ConnectorOptions;
use control::ControlOptions;
use credentials::CredentialOptions;
use keeping::KeepingOptions;
use limits::LimitOptions;
use scheduling::SchedulingOptions;

#[derive(Args)]
pub struct ServerOptions {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    #[command(flatten)]
    pub(crate) listening: Listening,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) keys: Keys,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) connectors: ConnectorOptions,
    #[command(flatten)]
    pub(crate) credentials: CredentialOptions,
    #[command(flatten)]
    pub(crate) workers: WorkerOptions,
    #[command(flatten)]
    pub(crate) control: ControlOptions,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    #[command(flatten)]
    pub(crate) keeping: KeepingOptions,
    #[command(flatten)]
    pub(crate) checking: CheckingOptions,
    #[command(flatten)]
    pub(crate) scheduling: SchedulingOptions,
    #[command(flatten)]
    pub(crate) collecting: CollectingOptions,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
    #[command(flatten)]
    pub(crate) observing: Observing,
}

impl ServerOptions {
    /// Reads the options from arguments alone, without variables or a file.
    pub(crate) fn of_args<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let command = Self::augment_args(Command::new("airside").no_binary_name(true));
        let matches = command.try_get_matches_from(args)?;
        Ok(Self::from_arg_matches(&matches)?)
    }
}

/// The options about the settings themselves; these two are not in the file.
#[derive(Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct Configuration {
    /// YAML file with settings, named like the options: `listen: 0.0.0.0:8080`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print every setting and where it comes from, secrets hidden, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct Database {
    /// Directory for the database, logs, volumes and keys; created if missing
    #[arg(long, value_name = "DIR", default_value = "airside-data")]
    pub(crate) data: PathBuf,

    /// URL of the database: postgres://user:password@host:port/name or sqlite:FILE [default: SQLite
    /// in the data directory]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    database_url: Option<DatabaseUrl>,

    /// File with the URL of the database, which keeps its password out of process lists
    #[arg(long, value_name = "FILE")]
    database_url_file: Option<PathBuf>,
}

impl Database {
    pub(crate) fn url(&self, data: &DataFolder) -> Result<DatabaseUrl> {
        match (&self.database_url, &self.database_url_file) {
            (Some(_), Some(_)) => bail!(
                "both --database-url and --database-url-file are given; leave one of them out"
            ),
            (Some(url), None) => Ok(url.clone()),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file).with_context(|| {
                    format!("cannot read the database's URL in {}", file.display())
                })?;
                let url = text.trim().parse();
                url.with_context(|| format!("in {} (--database-url-file)", file.display()))
            }
            (None, None) => Ok(DatabaseUrl::from(data.join("airside.db"))),
        }
    }
}

/// A length of time as people write it.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    airside_model::read_duration(text).map_err(|why| format!("{text:?} {why}"))
}
