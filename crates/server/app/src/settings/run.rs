//! The variables of `airside run`, which has no file of settings.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command};

use super::{name, variable};

pub(super) const COMMAND: &str = "run";

const NOTE: &str = "\
Variables of the environment:
  Every option is also a variable, AIRSIDE_ and its name in capitals (AIRSIDE_LOCAL_NETWORK); an
  option wins over the variable. An option that can be repeated has one value on each line of its
  variable. A flag has the value true or false there; --FLAG=false turns it off again. A size has
  units (500MB, 10GiB).";

/// Gives the options of `airside run` their variables.
pub(super) fn with_variables(command: Command, of_flag: fn(Arg) -> Arg) -> Command {
    command.mut_subcommand(COMMAND, |command| {
        let with_note = |text: Option<String>| match text {
            Some(text) => format!("{text}\n\n{NOTE}"),
            None => NOTE.to_owned(),
        };
        let short = with_note(command.get_after_help().map(ToString::to_string));
        let long = with_note(command.get_after_long_help().map(ToString::to_string));
        command
            .after_help(short)
            .after_long_help(long)
            .args_override_self(true)
            .mut_args(|arg| match name(&arg).map(variable) {
                Some(variable) => with_variable(of_flag(arg), variable),
                None => arg,
            })
    })
}

fn with_variable(arg: Arg, variable: String) -> Arg {
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    if !is_list || arg.get_value_delimiter().is_some() {
        return arg.env(variable).hide_env(true);
    }
    // No sign could part the values on a command line: a secret may have any.
    match std::env::var_os(variable) {
        Some(value) => arg.default_values(lines(&value)).hide_default_value(true),
        None => arg,
    }
}

fn lines(value: &OsStr) -> Vec<OsString> {
    let lines = value.as_encoded_bytes().split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    // A value that is not text stays as it is, and clap says so.
    lines
        .map(|line| match std::str::from_utf8(line) {
            Ok(line) => line.into(),
            Err(_) => value.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_value_on_each_line() {
        assert_eq!(lines("a=1,2\n\nb=x;y\n".as_ref()), ["a=1,2", "b=x;y"]);
        assert_eq!(lines("".as_ref()), [""; 0]);
    }
}
