//! Privileged steps, which a file may ask for and only the user can allow.

use std::{
    collections::BTreeSet,
    io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _},
};

use airside_config::{Config, Job, Leaf, ResourceType};
use clap::Args;
use parking_lot::Mutex;

use super::{folders::Folder, order::Order};

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 64;

/// Number of steps that a message names.
const MAX_NAMED: usize = 20;

/// Characters of a name that are shown.
const MAX_NAME_CHARS: usize = 80;

#[derive(Args)]
pub(crate) struct PrivilegeOptions {
    /// Run privileged steps, which are root on this machine; without it, a file with such steps is
    /// refused unless the user at the terminal agrees
    #[arg(long)]
    allow_privileged: bool,

    /// The steps that the user has allowed at the terminal: with --watch a file is read many times.
    #[arg(skip)]
    allowed: Mutex<BTreeSet<String>>,
}

impl PrivilegeOptions {
    /// Fails if the chosen jobs have privileged steps that neither the option nor the user at the
    /// terminal allows. Asks again only if a file asks for more than the user has allowed. Blocks.
    pub(crate) fn check(
        &self,
        config: &Config,
        order: &Order,
        folders: &[Folder],
    ) -> Result<(), String> {
        let found = privileged(config, order, folders);
        self.allow(&found, is_allowed_at_terminal)
    }

    fn allow(&self, found: &[String], is_allowed: impl FnOnce(&str) -> bool) -> Result<(), String> {
        if self.allow_privileged || found.is_empty() {
            return Ok(());
        }
        // Held during the question: one terminal has one answer at a time.
        let mut allowed = self.allowed.lock();
        if found.iter().all(|step| allowed.contains(step)) {
            return Ok(());
        }
        let question = format!("this file asks for {}: {}", rights(), listed(found));
        if is_allowed(&question) {
            allowed.extend(found.iter().cloned());
            return Ok(());
        }
        Err(format!(
            "{question}; read what it does, then run it with --allow-privileged"
        ))
    }
}

/// Names the steps, but not so many that the question leaves the screen.
fn listed(found: &[String]) -> String {
    let named = found.iter().take(MAX_NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match found.len().checked_sub(MAX_NAMED) {
        Some(more @ 1..) => format!("{named} and {more} more"),
        _ => named,
    }
}

/// Shows a name as it can do no harm on a terminal: it is a stranger's.
fn quoted(name: &str) -> String {
    let shown: String = name.chars().take(MAX_NAME_CHARS).collect();
    format!("`{}`", shown.escape_debug())
}

/// Returns the rights that privileged steps have here.
fn rights() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "root of this machine"
    } else {
        "all rights of your user"
    }
}

/// Asks once, if there is a person to ask.
fn is_allowed_at_terminal(question: &str) -> bool {
    let (input, mut output) = (io::stdin(), io::stderr());
    if !input.is_terminal() || !output.is_terminal() {
        return false;
    }
    let mut answer = String::new();
    let asked = write!(output, "airside: {question}: run it? [y/N] ").and_then(|()| output.flush());
    let read = asked.and_then(|()| {
        let mut line = input.lock().take(MAX_ANSWER_BYTES);
        line.read_line(&mut answer)
    });
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Names every privileged step of the chosen jobs, and the types whose containers are privileged.
fn privileged(config: &Config, order: &Order, folders: &[Folder]) -> Vec<String> {
    let mut found = Vec::new();
    for job in config.jobs.iter().filter(|job| order.has(&job.name)) {
        job.visit_leaves(&mut |leaf| {
            if let Leaf::Task(task) = leaf
                && task.privileged
            {
                found.push(format!(
                    "task {} of job {}",
                    quoted(&task.name),
                    quoted(&job.name)
                ));
            }
        });
        let types = privileged_types(config, job, folders).into_iter();
        let job = quoted(&job.name);
        found.extend(types.map(|type_| format!("resource type {} of job {job}", quoted(type_))));
    }
    found
}

/// Returns the privileged types that a job uses. A task's file may name any of them.
fn privileged_types<'a>(config: &'a Config, job: &Job, folders: &[Folder]) -> Vec<&'a str> {
    let is_given = |resource: &str| folders.iter().any(|folder| folder.resource == resource);
    let mut used: Vec<&str> = Vec::new();
    job.visit_leaves(&mut |leaf| match leaf {
        Leaf::Get(get) if !is_given(get.resource()) => {
            used.extend(config.resource(get.resource()).map(|found| &*found.type_));
        }
        Leaf::Put(put) => {
            used.extend(config.resource(put.resource()).map(|found| &*found.type_));
        }
        Leaf::Task(task) => match &task.config {
            Some(task) => used.extend(task.image_resource.iter().map(|image| &*image.type_)),
            None => used.extend(config.resource_types.iter().map(|type_| &*type_.name)),
        },
        _ => {}
    });
    let is_used = |type_: &&ResourceType| used.iter().any(|name| comes_from(config, name, type_));
    let types = config
        .resource_types
        .iter()
        .filter(|type_| type_.privileged);
    types.filter(is_used).map(|type_| &*type_.name).collect()
}

/// Returns true if the type is this one, or its image is fetched by this one.
fn comes_from(config: &Config, name: &str, wanted: &ResourceType) -> bool {
    let mut name = name;
    // A type may have the name of its own parent; no chain is longer than the list.
    for _ in 0..=config.resource_types.len() {
        if name == wanted.name {
            return true;
        }
        match config.resource_type(name) {
            Some(type_) if type_.type_ != name => name = &type_.type_,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{super::order::Choice, *};

    const PIPELINE: &str = "
resource_types:
- {name: below, type: registry-image, privileged: true, source: {repository: r}}
- {name: above, type: below, source: {}}
- {name: plain, type: registry-image, source: {repository: r}}
resources:
- {name: a, type: above, source: {}}
- {name: b, type: plain, source: {}}
jobs:
- name: task
  plan: [{task: t, privileged: true, config: &c {platform: linux, run: {path: 'true'}}}]
  on_failure: {try: {task: hook, privileged: true, config: *c}}
- {name: gets, plan: [{get: a}]}
- {name: puts, plan: [{put: a}]}
- {name: plain, plan: [{get: b}, {task: t, config: *c}]}
- {name: file, plan: [{get: b}, {task: t, file: b/task.yml}]}
";

    fn found(job: &str, folders: &[Folder]) -> Vec<String> {
        let config = airside_config::load(PIPELINE).unwrap().config;
        let order = Order::new(&config, Choice::Only(&[job.to_owned()])).unwrap();
        privileged(&config, &order, folders)
    }

    #[test]
    fn hostile_privileged_steps_are_found_wherever_they_stand() {
        let tasks = ["task `t` of job `task`", "task `hook` of job `task`"];
        assert_eq!(found("task", &[]), tasks);
        for job in ["gets", "puts", "file"] {
            let expected = format!("resource type `below` of job `{job}`");
            assert_eq!(found(job, &[]), [expected]);
        }
        assert_eq!(found("plain", &[]), [""; 0]);
    }

    #[test]
    fn an_answer_is_kept_until_a_file_asks_for_more() {
        let options = PrivilegeOptions {
            allow_privileged: false,
            allowed: Mutex::default(),
        };
        let steps = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let never = |question: &str| -> bool { panic!("asked again: {question}") };
        let denied = options.allow(&steps(&["a"]), |_| false).unwrap_err();
        assert!(denied.contains("--allow-privileged"), "{denied}");
        assert_eq!(options.allow(&steps(&["a", "b"]), |_| true), Ok(()));
        assert_eq!(options.allow(&steps(&["b"]), never), Ok(()));
        assert_eq!(options.allow(&[], never), Ok(()));
        assert!(options.allow(&steps(&["a", "c"]), |_| false).is_err());
        assert_eq!(options.allow(&steps(&["a", "b"]), never), Ok(()));
    }

    #[test]
    fn hostile_names_change_nothing_on_the_terminal() {
        assert_eq!(quoted("a\u{1b}[2J\n\u{202e}b"), r"`a\u{1b}[2J\n\u{202e}b`");
        assert_eq!(quoted(&"x".repeat(1000)).len(), MAX_NAME_CHARS + 2);
        let many = vec!["x".to_owned(); MAX_NAMED + 3];
        assert!(listed(&many).ends_with("x and 3 more"));
        assert_eq!(listed(&many[..2]), "x, x");
    }

    #[test]
    fn a_get_that_a_folder_stands_for_needs_no_rights() {
        let folder = Folder {
            resource: "a".to_owned(),
            path: ".".into(),
        };
        assert_eq!(found("gets", &[folder]), [""; 0]);
    }
}
