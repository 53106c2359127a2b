//! What a team's loop remembers between passes. All of it is found again by a look at objects and
//! store: nothing is lost by a restart but time.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use airside_control_objects::{conditions::PipelineReadiness, differs};
use airside_model::{BuildId, PipelineId, deadline_after};
use kube::ResourceExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::Marks;
use crate::{link::SeenObjects, trigger::is_complete};

/// Largest number of builds whose objects are remembered as deleted.
const MAX_PRUNED: usize = 100_000;
/// Shortest pause before something is tried again.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// Longest time for which an object that was created may be missing in the watch.
const WATCH_DELAY: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct TeamState {
    pub(crate) marks: Marks,
    /// Results of looks at objects that set pipelines, by uid.
    pub(crate) attempts: HashMap<String, SetAttempt>,
    /// Times since which the objects of pipelines are missing.
    pub(crate) missing: HashMap<PipelineId, Instant>,
    /// Builds of objects that asked for one, by the objects' uids.
    pub(crate) requested: HashMap<String, BuildId>,
    /// Times at which objects that ask for a build are looked at again, by uid.
    pub(crate) request_retries: HashMap<String, Instant>,
    /// Objects whose abort was passed on, by uid.
    pub(crate) aborted: HashSet<String>,
    /// Statuses as they were written last, by uid: the watch is a little behind.
    written: HashMap<String, Value>,
    /// Objects that were created and are not in the watch yet: uids by kind and name, with the
    /// times of their creation.
    created: HashMap<(&'static str, String), (String, Instant)>,
    /// Objects that the last pass saw, by uid; with the build of an object whose build has ended.
    known: HashMap<String, Option<i64>>,
    /// Builds that have ended and whose objects people deleted: these do not come back while the
    /// server runs, so that a pruner has an end.
    pub(crate) pruned: HashSet<i64>,
    /// Objects that were deleted and are still in the watch, by uid.
    pub(crate) deleted: HashSet<String>,
    /// True if the cluster overwrites the annotation with the creator of a build.
    pub(crate) knows_creators: Option<(Instant, bool)>,
    pub(crate) is_team_missed: bool,
    /// True if it was logged that no more builds get objects.
    pub(crate) is_full_told: bool,
}

/// The result of a look at an object that sets a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct SetAttempt {
    pub(crate) generation: i64,
    pub(crate) readiness: PipelineReadiness,
    /// When it is tried again without a change of the object.
    pub(crate) retry: Option<Instant>,
    pub(crate) failures: u32,
}

/// A status that is to be written, and the one before it.
pub(crate) struct StatusWrite {
    pub(crate) before: Value,
    pub(crate) status: Value,
}

impl TeamState {
    /// Forgets what is known of objects that are gone.
    pub(crate) fn forget_gone(&mut self, seen: &SeenObjects) {
        let mut uids = HashMap::new();
        let lasting = |uid: Option<String>| Some((uid?, None));
        uids.extend(
            seen.pipelines
                .state()
                .iter()
                .filter_map(|one| lasting(one.uid())),
        );
        uids.extend(
            seen.jobs
                .state()
                .iter()
                .filter_map(|one| lasting(one.uid())),
        );
        uids.extend(seen.builds.state().iter().filter_map(|one| {
            let ended = one.status.as_ref().filter(|_| is_complete(one));
            Some((one.uid()?, ended.and_then(|status| status.id)))
        }));
        self.note_vanished(&uids);
        // An object may come and go while the watch is behind: it is looked for anew.
        let is_seen = |uid: &String| uids.contains_key(uid);
        let lost = |(uid, at): &(String, Instant)| !is_seen(uid) && at.elapsed() >= WATCH_DELAY;
        if self.created.values().any(lost) {
            self.marks.mark_all(Instant::now());
        }
        self.created
            .retain(|_, created| !is_seen(&created.0) && !lost(created));
        let created: HashSet<&String> = self.created.values().map(|(uid, _)| uid).collect();
        let is_there = |uid: &String| uids.contains_key(uid) || created.contains(uid);
        self.written.retain(|uid, _| is_there(uid));
        self.attempts.retain(|uid, _| is_there(uid));
        self.requested.retain(|uid, _| is_there(uid));
        self.request_retries.retain(|uid, _| is_there(uid));
        self.aborted.retain(is_there);
        self.deleted.retain(is_there);
        self.known = uids;
    }

    /// Marks what people deleted: it may have to come back.
    fn note_vanished(&mut self, uids: &HashMap<String, Option<i64>>) {
        let vanished = self
            .known
            .iter()
            .filter(|(uid, _)| !uids.contains_key(*uid));
        let mut by_people = vanished
            .filter(|(uid, _)| !self.deleted.contains(*uid))
            .peekable();
        if by_people.peek().is_none() {
            return;
        }
        self.pruned
            .extend(by_people.filter_map(|(_, build)| *build));
        if self.pruned.len() > MAX_PRUNED {
            self.pruned.clear();
        }
        self.marks.mark_all(Instant::now());
    }

    /// Returns the time at which something is tried again. An object may be missing for `grace`.
    pub(crate) fn next_look(&self, grace: Duration) -> Option<Instant> {
        let attempts = self.attempts.values().filter_map(|one| one.retry);
        let missing = self
            .missing
            .values()
            .map(|since| deadline_after(*since, grace));
        let requests = self.request_retries.values().copied();
        let created = self.created.values();
        let created = created.map(|(_, at)| deadline_after(*at, WATCH_DELAY));
        let next = attempts
            .chain(missing)
            .chain(requests)
            .chain(created)
            .min()?;
        // What is due and was not done waits for something else.
        Some(next.max(deadline_after(Instant::now(), MIN_PAUSE)))
    }

    /// Returns the status of an object as it was written last.
    pub(crate) fn last_status(&self, uid: &str, seen: &Value) -> Value {
        self.written.get(uid).unwrap_or(seen).clone()
    }

    /// Returns the write of a status if it says something else than the one before.
    pub(crate) fn status_write(
        &self,
        uid: &str,
        seen: &Value,
        status: Value,
    ) -> Option<StatusWrite> {
        let before = self.last_status(uid, seen);
        differs(&status, &before).then_some(StatusWrite { before, status })
    }

    pub(crate) fn note_written(&mut self, uid: &str, status: Value) {
        self.written.insert(uid.to_owned(), status);
    }

    pub(crate) fn note_created(&mut self, kind: &'static str, name: &str, uid: &str) {
        let entry = (uid.to_owned(), Instant::now());
        self.created.insert((kind, name.to_owned()), entry);
    }

    /// Returns the uid of an object that was created and is not in the watch yet.
    pub(crate) fn created_uid(&self, kind: &'static str, name: &str) -> Option<&String> {
        self.created
            .get(&(kind, name.to_owned()))
            .map(|(uid, _)| uid)
    }

    /// Returns the names of objects that were created and were not in the watch at the last pass.
    pub(crate) fn created_names(&self, kind: &'static str) -> impl Iterator<Item = &str> {
        let of_kind = self.created.keys().filter(move |(one, _)| *one == kind);
        of_kind.map(|(_, name)| name.as_str())
    }
}
