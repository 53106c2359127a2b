//! Every help text as a snapshot, and the rules that all of them keep.

use clap::{Arg, Command};

/// Columns at which help is wrapped in snapshots, whatever terminal the tests run in.
const WIDTH: usize = 100;

/// Openings that hide the subject.
const FORBIDDEN_OPENINGS: [&str; 13] = [
    "What", "Whether", "How", "Where", "Who", "Whom", "Of", "For", "As", "Those", "The same",
    "So that", "That",
];

/// Words that hide the actor or the amount.
const FORBIDDEN_WORDS: [&str; 8] = [
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "whoever",
    "whom",
    "so many",
    "so long",
];

/// Options that clap adds by itself.
const OF_CLAP: [&str; 2] = ["help", "version"];

/// Returns every command that is shown, with the words that call it.
fn commands() -> Vec<(String, Command)> {
    let mut root = super::shown().term_width(WIDTH);
    root.build();
    let mut found = Vec::new();
    collect("airside", &root, &mut found);
    found
}

fn collect(path: &str, command: &Command, found: &mut Vec<(String, Command)>) {
    found.push((path.to_owned(), command.clone().term_width(WIDTH)));
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for sub in shown.filter(|sub| sub.get_name() != "help") {
        collect(&format!("{path} {}", sub.get_name()), sub, found);
    }
}

#[test]
fn the_help_of_every_command() {
    for (path, mut command) in commands() {
        let help = command.render_long_help().to_string();
        insta::with_settings!({
            snapshot_path => "../snapshots/help",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(path.replace(' ', "-"), help);
        });
    }
}

/// Returns the texts that explain an option, its values included.
fn texts_of_option(arg: &Arg) -> Vec<String> {
    let values = arg.get_possible_values();
    let of_values = values.iter().filter_map(|value| value.get_help());
    arg.get_help()
        .into_iter()
        .chain(arg.get_long_help())
        .chain(of_values)
        .map(ToString::to_string)
        .collect()
}

fn texts_of_command(command: &Command) -> Vec<String> {
    [
        command.get_about(),
        command.get_long_about(),
        command.get_after_help(),
        command.get_after_long_help(),
    ]
    .into_iter()
    .flatten()
    .map(ToString::to_string)
    .collect()
}

/// Returns what is wrong with one text.
fn complaints(text: &str) -> Vec<String> {
    let opening = |opening: &&&str| {
        let rest = text.strip_prefix(**opening);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let lower = text.to_lowercase();
    let words = |words: &&&str| {
        let mut places = lower.match_indices(**words);
        places.any(|(at, _)| {
            let (before, after) = (&lower[..at], &lower[at + words.len()..]);
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        })
    };
    let openings = FORBIDDEN_OPENINGS.iter().filter(opening);
    let openings = openings.map(|opening| format!("begins with {opening:?}: {text}"));
    let inside = FORBIDDEN_WORDS.iter().filter(words);
    openings
        .chain(inside.map(|words| format!("has {words:?}: {text}")))
        .collect()
}

#[test]
fn every_command_and_option_is_explained_in_plain_words() {
    let mut wrong = Vec::new();
    for (path, command) in commands() {
        if command.get_about().is_none() {
            wrong.push(format!("{path}: no help"));
        }
        let texts = texts_of_command(&command);
        let bad = texts.iter().flat_map(|text| complaints(text));
        wrong.extend(bad.map(|bad| format!("{path}: {bad}")));
        let own = |arg: &&Arg| !OF_CLAP.contains(&arg.get_id().as_str());
        for arg in command.get_arguments().filter(own) {
            let name = arg.get_id();
            match arg.get_help().map(ToString::to_string) {
                None => wrong.push(format!("{path} {name}: no help")),
                Some(help) if help.ends_with('.') => {
                    wrong.push(format!("{path} {name}: ends with a full stop: {help}"));
                }
                Some(_) => {}
            }
            let texts = texts_of_option(arg);
            let bad = texts.iter().flat_map(|text| complaints(text));
            wrong.extend(bad.map(|bad| format!("{path} {name}: {bad}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn riddles_are_found() {
    assert_eq!(complaints("Of its service").len(), 1);
    assert_eq!(complaints("Keep so many builds").len(), 1);
    assert!(complaints("Format of log lines; somebodys").is_empty());
    assert!(complaints("Whatever was given").is_empty());
}
