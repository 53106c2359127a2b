//! Every setting can be given in three ways that agree, whatever options there are.

mod help;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::Path,
};

use clap::{Arg, ArgAction, CommandFactory as _};

use airside_app::settings::{self, Setting, SettingOrigin};

use crate::Arguments;

/// Returns the command as its arguments are parsed.
fn command() -> clap::Command {
    settings::with_variables(crate::command())
}

/// Returns the command as its help is shown.
fn shown() -> clap::Command {
    settings::as_shown(crate::command())
}

fn all() -> Vec<Arg> {
    let command = command();
    let web = command.find_subcommand("web").unwrap();
    let args = web.get_arguments();
    args.filter(|arg| settings::name(arg).is_some())
        .cloned()
        .collect()
}

#[test]
fn clap_finds_nothing_wrong() {
    command().debug_assert();
    shown().debug_assert();
}

#[test]
fn up_and_web_have_the_same_settings_and_each_has_its_variable() {
    let command = command();
    let names = |server: &str| -> Vec<String> {
        let server = command.find_subcommand(server).unwrap();
        let args = server.get_arguments().filter_map(settings::name);
        args.map(str::to_owned).collect()
    };
    assert_eq!(names("up"), names("web"));
    for arg in all() {
        let name = settings::name(&arg).unwrap();
        let expected = format!("AIRSIDE_{}", name.to_uppercase().replace('-', "_"));
        assert_eq!(arg.get_env(), Some(OsString::from(expected).as_os_str()));
        assert!(arg.get_help().is_some(), "{name} is not explained");
        assert!(arg.get_help_heading().is_some(), "{name} is in no group");
        assert!(
            matches!(arg.get_action(), ArgAction::Set | ArgAction::Append),
            "{name} takes no value, so that a file cannot turn it off"
        );
    }
}

#[test]
fn secrets_can_come_from_files() {
    let args = all();
    let by_name: BTreeMap<&str, &Arg> = args
        .iter()
        .filter_map(|arg| Some((settings::name(arg)?, arg)))
        .collect();
    let secrets = by_name
        .iter()
        .filter(|(_, arg)| arg.is_hide_env_values_set());
    for (name, _) in secrets {
        assert!(by_name.contains_key(&*format!("{name}-file")), "{name}");
    }
}

/// Adds the text of each page below a folder.
fn read_pages(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_pages(&path, text);
        } else if path.extension().is_some_and(|it| it == "md") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_setting_is_on_a_page() {
    let mut text = String::new();
    read_pages(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs"),
        &mut text,
    );
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words: BTreeSet<&str> = text
        .split(|c: char| !is_of_word(c))
        .map(|word| word.trim_start_matches('-'))
        .collect();
    let args = all();
    let names = args.iter().filter_map(settings::name);
    let missing: Vec<&str> = names.filter(|name| !words.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "in no page of docs/: {missing:?}; docs/operations/settings.md is the place, or their own page"
    );
}

/// Returns the settings of a command line by name. The environment must have none of ours.
fn read(args: &[&str]) -> Result<BTreeMap<String, Setting>, String> {
    let args = ["airside", "web"].iter().chain(args).map(OsString::from);
    match settings::read::<Arguments>(Arguments::command(), args.collect()) {
        Ok(read) => Ok(read
            .settings
            .into_iter()
            .map(|setting| (setting.name.clone(), setting))
            .collect()),
        Err(error) => Err(error.to_string()),
    }
}

fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("airside.yml");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn an_option_wins_over_the_file_and_the_file_over_the_default() {
    let (_folder, path) = file("listen: 127.0.0.1:1\nlog-format: json\nuser: [a:b, c:d]\n");
    let settings = read(&["--config", &path, "--log-format", "human"]).unwrap();
    let shown = |name: &str| {
        (
            settings[name].values.join(" "),
            settings[name].origin.clone(),
        )
    };
    let from_file = |line| SettingOrigin::File {
        path: path.clone().into(),
        line,
    };
    assert_eq!(shown("listen"), ("127.0.0.1:1".to_owned(), from_file(1)));
    assert_eq!(
        shown("log-format"),
        ("human".to_owned(), SettingOrigin::Option)
    );
    assert_eq!(shown("user"), ("a:b c:d".to_owned(), from_file(3)));
    assert_eq!(
        shown("data"),
        ("airside-data".to_owned(), SettingOrigin::Default)
    );
    assert_eq!(shown("targets"), (String::new(), SettingOrigin::Unset));
    let twice = read(&[
        "--data", "a", "--user", "a:b", "--data", "b", "--user", "c:d",
    ])
    .unwrap();
    assert_eq!(twice["data"].values, ["b"], "the last counts");
    assert_eq!(twice["user"].values, ["a:b", "c:d"], "there may be several");
    let replaced = read(&["--config", &path, "--user", "e:f"]).unwrap();
    assert_eq!(
        replaced["user"].values,
        ["e:f"],
        "a list is replaced, not added to"
    );
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    for (text, expected) in [
        (
            "lisen: x\n",
            ":1:1: there is no setting `lisen`; did you mean `listen`?",
        ),
        (
            "data: a\ndatabase_url: x\n",
            ":2:1: there is no setting `database_url`; did you mean `database-url`?",
        ),
        (
            "banana: x\n",
            ":1:1: there is no setting `banana`; `airside web --help` lists them",
        ),
        ("config: other.yml\n", ":1:1: there is no setting `config`"),
        (
            "data: a\nlisten: here\n",
            ":2:9: listen: invalid value 'here' for '--listen <ADDR>': an address is written IP:PORT or NAME:PORT",
        ),
        (
            "log-format: xml\n",
            ":1:13: log-format: invalid value 'xml' for '--log-format <FORMAT>'",
        ),
        (
            "local-worker: maybe\n",
            ":1:15: local-worker: invalid value 'maybe'",
        ),
        ("user: [a:b, c]\n", ":1:7: user: invalid value 'c'"),
        (
            "listen: [127.0.0.1:1]\n",
            ":1:9: listen: expects a single value, but this is a list",
        ),
        (
            "listen:\n",
            "listen: expects a single value, but this is null",
        ),
        (
            "data: a\ndata: b\n",
            ":2:1: `data` is here a second time; the first is in line 1",
        ),
        (
            "- a\n",
            ":1:1: settings are written `name: value`, but this is a list",
        ),
        ("a: [\n", "airside.yml:"),
    ] {
        let (_folder, path) = file(text);
        let error = read(&["--config", &path]).map(|_| ()).unwrap_err();
        assert!(
            error.starts_with(&path) && error.contains(expected),
            "{text:?}: {error}"
        );
    }
    let error = read(&["--config", "no/such/file"]).map(|_| ()).unwrap_err();
    assert!(error.starts_with("no/such/file: cannot be read"), "{error}");
    let (_folder, empty) = file("");
    assert!(read(&["--config", &empty]).is_ok());
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let (_folder, path) = file("lisen: x\nlisten: here\ndatas: x\n");
    let error = read(&["--config", &path]).map(|_| ()).unwrap_err();
    assert_eq!(error.lines().count(), 3, "{error}");
}

#[test]
fn flags_are_shown_without_the_values_that_they_take() {
    let help = read(&["--help"]).map(|_| ()).unwrap_err();
    assert!(help.contains("--local-host-access\n"), "{help}");
    let settings = read(&["--local-host-access", "--local-host-access=false"]).unwrap();
    assert_eq!(settings["local-host-access"].values, ["false"]);
    let help = read(&["--local-host-access=false", "--help"]).map(|_| ());
    assert!(help.unwrap_err().contains("Usage: airside web"));
}

#[test]
fn a_setting_is_known_by_its_earlier_name() {
    let settings = read(&["--keep-most=7"]).unwrap();
    assert_eq!(settings["max-kept-containers"].values, ["7"]);
    let (_folder, path) = file("keep-most: 8\n");
    let settings = read(&["--config", &path]).unwrap();
    assert_eq!(settings["max-kept-containers"].values, ["8"]);
    let (_folder, path) = file("keep-most: 8\nmax-kept-containers: 9\n");
    let error = read(&["--config", &path]).map(|_| ()).unwrap_err();
    assert!(
        error.contains(":2:1: `max-kept-containers` is set twice"),
        "{error}"
    );
}
