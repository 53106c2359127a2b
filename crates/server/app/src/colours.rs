//! The one rule about colours, for everything that Airside writes: the log, the lines of a run,
//! tables. Help texts and errors of usage, which clap writes, keep the same rule.
//!
//! `NO_COLOR` forbids them, `CLICOLOR_FORCE` asks for them even in files, and otherwise they are
//! for terminals that show them.

use std::{
    ffi::{OsStr, OsString},
    io::{self, IsTerminal as _},
};

/// Returns true if text on standard output may have colours.
pub fn on_stdout() -> bool {
    has_colours(io::stdout().is_terminal(), |name| std::env::var_os(name))
}

/// Returns true if text on standard error may have colours.
pub fn on_stderr() -> bool {
    has_colours(io::stderr().is_terminal(), |name| std::env::var_os(name))
}

/// Returns true if standard output is a terminal on which the cursor can be moved.
pub fn stdout_has_cursor() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && !is_dumb
}

fn has_colours(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is = |name, expected: fn(&OsStr) -> bool| variable(name).is_some_and(|it| expected(&it));
    if is("NO_COLOR", |it| !it.is_empty()) {
        return false;
    }
    if is("CLICOLOR_FORCE", |it| it != "0") {
        return true;
    }
    is_terminal && !is("CLICOLOR", |it| it == "0") && !is("TERM", |it| it == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_show_them_unless_variables_say_otherwise() {
        for (is_terminal, set, expected) in [
            (true, &[("TERM", "xterm")][..], true),
            (true, &[("NO_COLOR", "")], true),
            (false, &[("TERM", "xterm")], false),
            (true, &[("TERM", "dumb")], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("CLICOLOR", "0")], false),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (false, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], true),
            (true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(has_colours(is_terminal, variable), expected, "{set:?}");
        }
    }
}
