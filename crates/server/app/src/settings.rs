//! One name for each setting, in three places: an option, a variable, a key of the configuration
//! file.
//!
//! ```text
//! option  >  variable AIRSIDE_…  >  file  >  default
//! ```
//!
//! The options of clap are the only list. Variables are derived from their names; what the file
//! says becomes their defaults. An option that is added to `options` is therefore in all three.

mod file;
mod print;
mod run;
mod variables;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Arg, ArgAction, ArgMatches, Command, FromArgMatches, error::ErrorKind, parser::ValueSource,
};

pub use file::ConfigError;
pub(crate) use file::ConfigFile;

/// The commands that have settings.
const SERVERS: [&str; 2] = ["up", "web"];

/// Options about the settings, and clap's own.
const NO_SETTINGS: [&str; 4] = ["config", "print-config", "help", "version"];

const NOTE: &str = "\
Settings:
  Every option is also a variable, AIRSIDE_ and its name in capitals (AIRSIDE_DATABASE_URL), and a
  key of the file that --config names (database-url: …). An option wins over the variable, the
  variable over the file, in which relative paths begin at its directory. A flag has the value true
  or false there; --FLAG=false turns it off again. A DURATION has units (30s, 5m, 1h30m), and so has
  a size (500MB, 1GiB).";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Wrong usage, or a request for help.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    #[error(transparent)]
    File(#[from] ConfigError),
}

/// The parsed arguments, and the settings in effect with their origins.
pub struct Read<T> {
    pub arguments: T,
    pub settings: Vec<Setting>,
    /// The variables of all commands that have any.
    pub variables: SettingVariables,
}

/// A setting in effect.
pub struct Setting {
    pub name: String,
    pub values: Vec<String>,
    pub origin: SettingOrigin,
    pub secret: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    Option,
    Variable(String),
    File {
        path: PathBuf,
        line: usize,
    },
    Default,
    /// The setting is not given and has no default.
    Unset,
}

/// The variable of a setting.
pub(crate) fn variable(name: &str) -> String {
    format!("AIRSIDE_{}", name.replace('-', "_").to_uppercase())
}

/// The name of a setting, unless it is an option of another kind.
pub fn name(arg: &Arg) -> Option<&str> {
    arg.get_long().filter(|long| !NO_SETTINGS.contains(long))
}

/// Gives the commands of the server, and `airside run`, their variables. Their flags take `true`
/// and `false` too.
pub fn with_variables(command: Command) -> Command {
    with_settings(command, switchable)
}

/// Returns the commands as their help and manual pages show them. A flag is shown without the
/// values that it takes: the notes below the options explain them once.
pub fn as_shown(command: Command) -> Command {
    with_settings(command, |arg| arg)
}

fn with_settings(command: Command, of_flag: fn(Arg) -> Arg) -> Command {
    let command = run::with_variables(command, of_flag);
    SERVERS.iter().fold(command, |command, server| {
        command.mut_subcommand(*server, |command| {
            // The last of two equal options counts, so that scripts can add to what others wrote.
            let long = command
                .get_after_long_help()
                .map(|examples| format!("{examples}\n\n{NOTE}"));
            let command = command
                .after_help(NOTE)
                .after_long_help(long.unwrap_or_else(|| NOTE.to_owned()))
                .args_override_self(true);
            command.mut_args(|arg| match arg.get_long() {
                // The rule is printed once, under all of them.
                Some(long) if long == "config" || name(&arg).is_some() => {
                    let variable = variable_of(&arg, long);
                    of_flag(arg).env(variable).hide_env(true)
                }
                _ => arg,
            })
        })
    })
}

/// Returns the variable of an option: that of an earlier name if only that one is set.
fn variable_of(arg: &Arg, long: &str) -> String {
    let current = variable(long);
    let is_set = |variable: &String| std::env::var_os(variable).is_some();
    if is_set(&current) {
        return current;
    }
    let mut earlier = earlier_names(arg).map(variable);
    earlier.find(is_set).unwrap_or(current)
}

/// Returns the names that an option had before, by which it is still known.
fn earlier_names(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_all_aliases().into_iter().flatten()
}

/// Lets a flag take `true` or `false` as a value too: a variable or a file could not turn it off
/// otherwise.
fn switchable(arg: Arg) -> Arg {
    match arg.get_action() {
        ArgAction::SetTrue => arg
            .action(ArgAction::Set)
            .value_name("true|false")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .default_value("false"),
        _ => arg,
    }
}

/// Reads options and variables, then the file that they name, then all of it together.
pub fn read<T: FromArgMatches>(command: Command, args: Vec<OsString>) -> Result<Read<T>, Error> {
    let plain = command.clone();
    let mut command = with_variables(command);
    let mut matches = command
        .try_get_matches_from_mut(&args)
        .map_err(|error| shown(error, plain, &args))?;
    let mut file = None;
    if let Some((server, path)) = config_path(&matches) {
        let known = command
            .find_subcommand(&server)
            .expect("it was just matched");
        let read = ConfigFile::read(&path, known)?;
        command = command.mut_subcommand(server, |command| read.as_defaults(command));
        matches = command.try_get_matches_from_mut(&args)?;
        file = Some(read);
    }
    let settings = match matches.subcommand() {
        Some((server, matches)) if SERVERS.contains(&server) => {
            let known = command
                .find_subcommand(server)
                .expect("it was just matched");
            in_effect(known, matches, file.as_ref())
        }
        _ => Vec::new(),
    };
    let arguments = T::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let with_settings = SERVERS.into_iter().chain([run::COMMAND]);
    let with_settings = with_settings.filter_map(|name| command.find_subcommand(name));
    Ok(Read {
        arguments,
        settings,
        variables: SettingVariables::of_commands(with_settings),
    })
}

/// Returns the help that was asked for with flags as people use them.
fn shown(error: clap::Error, command: Command, args: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::DisplayHelp {
        return error;
    }
    let again = as_shown(command).try_get_matches_from(args);
    // A flag with a value before --help is an error there.
    again
        .err()
        .filter(|again| again.kind() == ErrorKind::DisplayHelp)
        .unwrap_or(error)
}

fn config_path(matches: &ArgMatches) -> Option<(String, PathBuf)> {
    let (server, matches) = matches.subcommand()?;
    if !SERVERS.contains(&server) {
        return None;
    }
    let path = matches.get_one::<PathBuf>("config")?;
    Some((server.to_owned(), path.clone()))
}

fn in_effect(command: &Command, matches: &ArgMatches, file: Option<&ConfigFile>) -> Vec<Setting> {
    let args = command.get_arguments();
    let named = args.filter_map(|arg| Some((arg, name(arg)?)));
    named
        .map(|(arg, name)| {
            let id = arg.get_id().as_str();
            let raw = matches.get_raw(id).into_iter().flatten();
            Setting {
                name: name.to_owned(),
                values: raw
                    .map(|value| value.to_string_lossy().into_owned())
                    .collect(),
                origin: origin(arg, name, matches.value_source(id), file),
                secret: arg.is_hide_env_values_set(),
            }
        })
        .collect()
}

fn origin(
    arg: &Arg,
    name: &str,
    source: Option<ValueSource>,
    file: Option<&ConfigFile>,
) -> SettingOrigin {
    match source {
        None => SettingOrigin::Unset,
        Some(ValueSource::CommandLine) => SettingOrigin::Option,
        Some(ValueSource::EnvVariable) => SettingOrigin::Variable(variable_of(arg, name)),
        Some(_) => file
            .and_then(|file| file.origin(name))
            .unwrap_or(SettingOrigin::Default),
    }
}

pub(crate) use print::print;
pub use variables::SettingVariables;
