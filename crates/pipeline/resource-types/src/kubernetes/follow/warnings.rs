//! Warning events of an object and its pods, each shown once.

use std::{
    collections::{HashSet, VecDeque},
    io::Write,
};

use serde_json::Value;

use super::{
    super::names::{shown, text},
    owners::Owners,
};
use crate::log::say;

/// Warnings of one put that are shown.
const MAX_SHOWN: usize = 200;
/// Warnings that a failure repeats.
const RECENT: usize = 5;
/// Events of objects that may turn out to belong to the one that is followed.
const MAX_HELD: usize = 200;

/// Shows warnings.
pub(super) struct Warnings {
    name: String,
    shown: HashSet<String>,
    recent: VecDeque<String>,
    held: VecDeque<Value>,
}

impl Warnings {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            shown: HashSet::new(),
            recent: VecDeque::new(),
            held: VecDeque::new(),
        }
    }

    pub(super) fn recent(&self) -> Vec<String> {
        self.recent.iter().cloned().collect()
    }

    /// Shows an event, or holds it until it is known whose it is.
    pub(super) fn see(&mut self, event: Value, owners: &Owners, log: &mut dyn Write) {
        if self.is_ours(&event, owners) {
            self.show(&event, log);
            return;
        }
        if self.held.len() == MAX_HELD {
            self.held.pop_front();
        }
        self.held.push_back(event);
    }

    /// Shows what was held and is known now.
    pub(super) fn release(&mut self, owners: &Owners, log: &mut dyn Write) {
        let held = std::mem::take(&mut self.held);
        for event in held {
            self.see(event, owners, log);
        }
    }

    fn is_ours(&self, event: &Value, owners: &Owners) -> bool {
        let (kind, name) = (
            text(event, "/involvedObject/kind"),
            text(event, "/involvedObject/name"),
        );
        // A replica set that cannot make pods has none that would lead to it.
        let rest = name.strip_prefix(&self.name);
        let is_set_of_it = kind == "ReplicaSet" && rest.is_some_and(|rest| rest.starts_with('-'));
        is_set_of_it || owners.has(text(event, "/involvedObject/uid"))
    }

    fn show(&mut self, event: &Value, log: &mut dyn Write) {
        let line = format!(
            "{} {}: {}: {}",
            shown(event, "/involvedObject/kind"),
            shown(event, "/involvedObject/name"),
            shown(event, "/reason"),
            shown(event, "/message"),
        );
        if self.shown.len() == MAX_SHOWN || !self.shown.insert(line.clone()) {
            return;
        }
        say(log, &format!("warning: {line}"));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(line);
    }
}
