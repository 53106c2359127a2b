//! The configuration file: YAML, a map from settings to values. All problems are reported at once,
//! with their places.

use std::{
    any::TypeId,
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use airside_config::nearest;
use airside_yaml::{Key, Node, Position, Value};
use clap::{Arg, ArgAction, Command};

use super::{SettingOrigin, earlier_names, name};

/// The problems of a configuration file, with their places.
#[derive(Debug)]
pub struct ConfigError {
    path: PathBuf,
    problems: Vec<(Option<Position>, String)>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        for (index, (at, problem)) in self.problems.iter().enumerate() {
            let between = if index > 0 { "\n" } else { "" };
            match at {
                Some(at) => write!(f, "{between}{path}:{}:{}: {problem}", at.line, at.column)?,
                None => write!(f, "{between}{path}: {problem}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

pub(crate) struct ConfigFile {
    path: PathBuf,
    entries: BTreeMap<String, FileSetting>,
}

struct FileSetting {
    values: Vec<String>,
    at: Position,
}

type Problems = Vec<(Option<Position>, String)>;

impl ConfigFile {
    /// Reads the settings of `command` from a file.
    pub(crate) fn read(path: &Path, command: &Command) -> Result<Self, ConfigError> {
        let failed = |problems| ConfigError {
            path: path.to_owned(),
            problems,
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            failed(vec![(
                None,
                format!("cannot be read: {}", airside_model::chain(&error)),
            )])
        })?;
        let entries = parse(&text, command).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            entries,
        })
    }

    /// Puts what the file says in the place of defaults. Relative paths begin at the file's folder,
    /// so that they mean the same wherever the server is started.
    pub(crate) fn as_defaults(&self, command: Command) -> Command {
        command.mut_args(|arg| {
            let entry = name(&arg).and_then(|name| self.entries.get(name));
            match entry {
                Some(entry) if is_path(&arg) => {
                    let values = entry.values.iter().map(|value| self.resolved(value));
                    arg.default_values(values.collect::<Vec<_>>())
                }
                Some(entry) => arg.default_values(entry.values.clone()),
                None => arg,
            }
        })
    }

    fn resolved(&self, value: &str) -> OsString {
        match self.path.parent() {
            Some(folder) if !value.is_empty() => folder.join(value).into_os_string(),
            _ => value.into(),
        }
    }

    pub(crate) fn origin(&self, name: &str) -> Option<SettingOrigin> {
        self.entries.get(name).map(|entry| SettingOrigin::File {
            path: self.path.clone(),
            line: entry.at.line,
        })
    }
}

/// Returns true if the value of an option is a path.
fn is_path(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

fn parse(text: &str, command: &Command) -> Result<BTreeMap<String, FileSetting>, Problems> {
    let malformed =
        |error: airside_yaml::Error| vec![(Some(error.position), error.kind.to_string())];
    let root = airside_yaml::parse(text).map_err(malformed)?;
    let twice = airside_yaml::duplicate_keys(text).map_err(malformed)?;
    let mut problems: Problems = twice
        .into_iter()
        .map(|twice| {
            let message = format!(
                "`{}` is here a second time; the first is in line {}",
                twice.key.text, twice.first.start.line
            );
            (Some(twice.key.span.start), message)
        })
        .collect();
    let entries = match root.value {
        Value::Null => BTreeMap::new(),
        Value::Map(settings) => entries(&settings, command, &mut problems),
        other => {
            let message = format!(
                "settings are written `name: value`, but this is {}",
                other.kind()
            );
            problems.push((Some(root.span.start), message));
            BTreeMap::new()
        }
    };
    if problems.is_empty() {
        return Ok(entries);
    }
    problems.sort_by_key(|(at, _)| *at);
    Err(problems)
}

/// Reads all settings. Keys that occur twice are among the problems already.
fn entries(
    settings: &[(Key, Node)],
    command: &Command,
    problems: &mut Problems,
) -> BTreeMap<String, FileSetting> {
    let mut entries = BTreeMap::new();
    for (key, node) in settings {
        let at = Some(key.span.start);
        match entry(key, node, command) {
            Ok((name, entry)) => {
                let is_reported = problems.iter().any(|(known, _)| *known == at);
                if entries.insert(name.clone(), entry).is_some() && !is_reported {
                    problems.push((
                        at,
                        format!("`{name}` is set twice, once by an earlier name"),
                    ));
                }
            }
            Err((at, message)) => problems.push((Some(at), message)),
        }
    }
    entries
}

/// Returns the name and value of a setting. A key may be an earlier name of it.
fn entry(
    key: &Key,
    node: &Node,
    command: &Command,
) -> Result<(String, FileSetting), (Position, String)> {
    let at = key.span.start;
    let has_name = |arg: &Arg, known: &str| {
        known == key.text || earlier_names(arg).any(|name| name == key.text)
    };
    let (arg, name) = command
        .get_arguments()
        .filter_map(|arg| Some((arg, name(arg)?)))
        .find(|(arg, known)| has_name(arg, known))
        .ok_or_else(|| (at, unknown(&key.text, command)))?;
    let values = values(node, arg).map_err(|message| (node.span.start, message))?;
    try_out(arg, &values).map_err(|reason| (node.span.start, format!("{}: {reason}", key.text)))?;
    Ok((name.to_owned(), FileSetting { values, at }))
}

fn unknown(key: &str, command: &Command) -> String {
    let known: Vec<&str> = command.get_arguments().filter_map(name).collect();
    match nearest(key, known) {
        Some(near) => format!("there is no setting `{key}`; did you mean `{near}`?"),
        None => format!("there is no setting `{key}`; `airside web --help` lists them"),
    }
}

/// A scalar, or a list of them where the option may be given several times.
fn values(node: &Node, arg: &Arg) -> Result<Vec<String>, String> {
    let name = arg.get_long().unwrap_or_default();
    let scalar = |node: &Node| {
        let text = node.value.scalar_text();
        text.ok_or_else(|| {
            format!(
                "{name}: expects a single value, but this is {}",
                node.value.kind()
            )
        })
    };
    match (&node.value, arg.get_action()) {
        (Value::Seq(items), ArgAction::Append) => items.iter().map(scalar).collect(),
        _ => Ok(vec![scalar(node)?]),
    }
}

/// Lets clap parse the values on their own, so that an error can be reported with its place.
fn try_out(arg: &Arg, values: &[String]) -> Result<(), String> {
    let long = arg.get_long().unwrap_or_default();
    let args = values.iter().map(|value| format!("--{long}={value}"));
    let alone = Command::new("airside")
        .no_binary_name(true)
        .arg(arg.clone());
    let Err(error) = alone.try_get_matches_from(args) else {
        return Ok(());
    };
    // The first line says what is wrong, the rest how to use a command line.
    let shown = airside_model::chain(&error);
    let first = shown.lines().next().unwrap_or_default();
    Err(first.trim_start_matches("error: ").to_owned())
}
