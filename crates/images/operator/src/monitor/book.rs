//! The book of topics: the last answer about each topic, and the time of its next question. It is
//! pure: no I/O, no clock.
//!
//! A topic that no set wants any more is forgotten at once, and an answer that comes after that is
//! dropped: there is never an old monitor beside a new one.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use airside_image_rules::{PlatformImage, TagState};
use airside_oci::{Digest, Reference};
use jiff::{SignedDuration, Timestamp};

use super::{budget::MAX_PAUSE, topic::Topic};

const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// Age up to which an answer also serves a set that is new.
const FRESH: SignedDuration = SignedDuration::from_secs(60);
/// Time after a start within which overdue questions are asked.
const SPREAD: Duration = Duration::from_secs(60);

/// One tag or digest, as its registry has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownTag {
    pub(crate) image: Reference,
    pub(crate) digest: Digest,
    /// The image on each platform that was wanted; a platform that the image does not have is
    /// missing.
    pub(crate) platforms: BTreeMap<String, PlatformImage>,
    /// The platforms that were asked for.
    pub(crate) asked_for: BTreeSet<String>,
    /// Validator by which the registry answers that nothing has changed.
    pub(crate) mark: Option<String>,
    /// Time at which the image last got another content on a platform that is wanted.
    pub(crate) moved: Option<Timestamp>,
}

/// The reason why there was no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) state: TagState,
    pub(crate) words: String,
    /// Time for which the registry asks us to pause.
    pub(crate) retry_after: Option<Duration>,
}

/// A topic that a set wants to be followed.
#[derive(Clone, Debug)]
pub(crate) struct WantedTopic {
    pub(crate) topic: Topic,
    /// Interval of the question; none asks once.
    pub(crate) every: Option<Duration>,
    pub(crate) platforms: BTreeSet<String>,
    /// Answer that an earlier process wrote into the set's status.
    pub(crate) seed: Option<Seed>,
    /// True if the set has only just begun to want it.
    pub(crate) is_new: bool,
    /// True if the set was edited since its status was written: the status stays, and the registry
    /// is asked at once.
    pub(crate) is_edited: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) known: Vec<KnownTag>,
    pub(crate) checked: Option<Timestamp>,
    pub(crate) next: Option<Timestamp>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TopicEntry {
    every: Option<Duration>,
    platforms: BTreeSet<String>,
    pub(crate) known: Vec<KnownTag>,
    pub(crate) checked: Option<Timestamp>,
    pub(crate) next: Option<Timestamp>,
    pub(crate) failures: u32,
    pub(crate) trouble: Option<Trouble>,
    /// The turn that is under way.
    asking: Option<u64>,
}

/// A question that is due now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) topic: Topic,
    pub(crate) turn: u64,
    pub(crate) before: Vec<KnownTag>,
    pub(crate) platforms: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    entries: BTreeMap<Topic, TopicEntry>,
    turns: u64,
}

impl Book {
    /// Exactly these are wanted from now on. `chance` gives numbers from 0 to 1.
    pub(crate) fn want(
        &mut self,
        wants: Vec<WantedTopic>,
        now: Timestamp,
        chance: &mut dyn FnMut() -> f64,
    ) {
        let mut merged: BTreeMap<Topic, WantedTopic> = BTreeMap::new();
        for want in wants {
            match merged.get_mut(&want.topic) {
                None => drop(merged.insert(want.topic.clone(), want)),
                Some(before) => {
                    before.every = match (before.every, want.every) {
                        (Some(one), Some(other)) => Some(one.min(other)),
                        (one, other) => one.or(other),
                    };
                    before.platforms.extend(want.platforms);
                    before.seed = before.seed.take().or(want.seed);
                    before.is_new |= want.is_new;
                    before.is_edited |= want.is_edited;
                }
            }
        }
        self.entries.retain(|topic, _| merged.contains_key(topic));
        for (topic, want) in merged {
            match self.entries.get_mut(&topic) {
                Some(entry) => entry.change(&topic, want, now),
                None => drop(
                    self.entries
                        .insert(topic, TopicEntry::new(want, now, chance)),
                ),
            }
        }
    }

    pub(crate) fn get(&self, topic: &Topic) -> Option<&TopicEntry> {
        self.entries.get(topic)
    }

    /// Returns the questions that are due, each once.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<Due> {
        let mut due = Vec::new();
        for (topic, entry) in &mut self.entries {
            if entry.asking.is_none() && entry.next.is_some_and(|next| next <= now) {
                self.turns += 1;
                entry.asking = Some(self.turns);
                due.push(Due {
                    topic: topic.clone(),
                    turn: self.turns,
                    before: entry.known.clone(),
                    platforms: entry.platforms.clone(),
                });
            }
        }
        due
    }

    /// Returns the time at which something is due, if nothing happens before.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let idle = self.entries.values().filter(|entry| entry.asking.is_none());
        idle.filter_map(|entry| entry.next).min()
    }

    /// Returns true if a set still waits for the answer.
    pub(crate) fn is_awaited(&self, topic: &Topic, turn: u64) -> bool {
        let entry = self.entries.get(topic);
        entry.is_some_and(|entry| entry.asking == Some(turn))
    }

    pub(crate) fn answered(
        &mut self,
        due: &Due,
        answer: Result<Vec<KnownTag>, Trouble>,
        now: Timestamp,
        chance: &mut dyn FnMut() -> f64,
    ) {
        let entry = self.entries.get_mut(&due.topic);
        let Some(entry) = entry.filter(|entry| entry.asking == Some(due.turn)) else {
            return;
        };
        entry.asking = None;
        entry.checked = Some(now);
        match answer {
            Ok(known) => {
                entry.known = known;
                (entry.failures, entry.trouble) = (0, None);
                entry.next = if due.topic.question.is_fixed() {
                    None
                } else {
                    let every = entry.every;
                    every.and_then(|every| after(now, jittered(every, chance())))
                };
                // A set wants more platforms since the question was sent.
                if !entry.is_complete() {
                    entry.next = Some(now);
                }
            }
            Err(trouble) => {
                entry.failures = entry.failures.saturating_add(1);
                let asked = trouble.retry_after.unwrap_or_default().min(MAX_PAUSE);
                let wait = jittered(pause(entry.failures).max(asked), chance());
                entry.next = after(now, wait.clamp(asked, MAX_PAUSE));
                entry.trouble = Some(trouble);
            }
        }
    }
}

impl TopicEntry {
    fn new(want: WantedTopic, now: Timestamp, chance: &mut dyn FnMut() -> f64) -> Self {
        let mut entry = Self {
            every: want.every,
            platforms: want.platforms,
            next: Some(now),
            ..Self::default()
        };
        let Some(seed) = want.seed.filter(|_| !want.is_new) else {
            return entry;
        };
        entry.known = seed.known;
        entry.checked = seed.checked;
        if entry.known.is_empty() || !entry.is_complete() || want.is_edited {
            return entry;
        }
        let spread = SPREAD.min(entry.every.unwrap_or(SPREAD));
        let spread = airside_model::scale_duration(spread, chance());
        entry.next = match (want.topic.question.is_fixed(), seed.next) {
            (true, _) => None,
            (false, Some(next)) if next > now => Some(next),
            (false, Some(_)) => after(now, spread),
            (false, None) => entry.every.and_then(|_| after(now, spread)),
        };
        entry
    }

    fn change(&mut self, topic: &Topic, want: WantedTopic, now: Timestamp) {
        if self.every != want.every {
            self.every = want.every;
            let since = self.checked.unwrap_or(now);
            if !topic.question.is_fixed() && self.trouble.is_none() {
                self.next = want
                    .every
                    .and_then(|every| after(since, every))
                    .map(|next| next.max(now));
            }
        }
        self.platforms = want.platforms;
        let is_old = self
            .checked
            .is_none_or(|checked| now.duration_since(checked) > FRESH);
        if (want.is_new && is_old) || (self.trouble.is_none() && !self.is_complete()) {
            self.next = Some(now);
        }
    }

    /// Returns true if every wanted platform was asked for.
    fn is_complete(&self) -> bool {
        self.known
            .iter()
            .all(|known| self.platforms.is_subset(&known.asked_for))
    }
}

fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE)
}

/// A tenth more or less, so that not everything is asked about at once.
fn jittered(wait: Duration, chance: f64) -> Duration {
    airside_model::scale_duration(wait, 0.9 + 0.2 * chance)
}

fn after(now: Timestamp, wait: Duration) -> Option<Timestamp> {
    let wait = SignedDuration::try_from(wait).ok()?;
    now.checked_add(wait).ok()
}

#[cfg(test)]
mod tests;
