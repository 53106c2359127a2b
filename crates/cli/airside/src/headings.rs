//! Headings above subcommands: clap has them for options alone.

use std::fmt::Write as _;

use clap::Command;

/// Commands that are listed below one heading.
pub(crate) struct CommandGroup {
    pub heading: &'static str,
    pub commands: &'static [&'static str],
}

/// Groups of the commands of `airside`.
pub(crate) const TOP: &[CommandGroup] = &[
    CommandGroup {
        heading: "Pipelines on this machine",
        commands: &["run", "validate", "schema"],
    },
    CommandGroup {
        heading: "Servers and workers",
        commands: &["up", "web", "agent", "worker"],
    },
    CommandGroup {
        heading: "Kubernetes",
        commands: &["k8s", "images"],
    },
    CommandGroup {
        heading: "This machine",
        commands: &["doctor", "clean"],
    },
    CommandGroup {
        heading: "The command itself",
        commands: &["completion", "man", "version", HELP],
    },
    CommandGroup {
        heading: "Programs that pods run",
        commands: &["node"],
    },
];

/// Groups of the commands of `airside images`.
pub(crate) const IMAGES: &[CommandGroup] = &[
    CommandGroup {
        heading: "Commands",
        commands: &["install", "status", "node-agent", HELP],
    },
    CommandGroup {
        heading: "Programs that pods run",
        commands: &["operator", "admission", "mirror"],
    },
];

/// The command that clap adds to every command that has others.
const HELP: &str = "help";
const ABOUT_HELP: &str = "Print this message or the help of the given subcommand(s)";

/// Lists the subcommands of a command in groups. Each has one line, which must fit the terminal.
pub(crate) fn with_headings(command: Command, groups: &[CommandGroup]) -> Command {
    let width = groups.iter().flat_map(|group| group.commands);
    let width = width.map(|name| name.len()).max().unwrap_or_default();
    let (header, literal) = {
        let styles = command.get_styles();
        (*styles.get_header(), *styles.get_literal())
    };
    let mut lists = String::new();
    for CommandGroup { heading, commands } in groups {
        let _ = writeln!(lists, "{header}{heading}:{header:#}");
        for name in *commands {
            let about = about(&command, name);
            let space = width - name.len();
            let _ = writeln!(lists, "  {literal}{name}{literal:#}{:space$}  {about}", "");
        }
        lists.push('\n');
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

fn about(command: &Command, name: &str) -> String {
    match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        None => ABOUT_HELP.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Columns of the narrowest terminal for which lists are made.
    const COLUMNS: usize = 80;

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let top = crate::Arguments::command();
        let images = top.find_subcommand("images").unwrap();
        for (command, groups) in [(&top, TOP), (images, IMAGES)] {
            let grouped = groups.iter().flat_map(|group| group.commands);
            let mut listed: Vec<&str> = grouped.copied().collect();
            listed.sort_unstable();
            let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
            let mut known: Vec<&str> = shown.map(Command::get_name).chain([HELP]).collect();
            known.sort_unstable();
            assert_eq!(listed, known);
            let width = listed.iter().map(|name| name.len()).max().unwrap();
            for name in listed {
                let about = about(command, name);
                assert!(width + about.len() + 4 <= COLUMNS, "{name}: {about}");
            }
        }
    }
}
