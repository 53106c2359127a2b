//! Readers: what each follows, and what waits for it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use serde_json::json;
use tokio::{sync::Notify, time::Instant};

use super::Board;
use crate::{
    LivePosition, LiveRequest, LiveSight, LiveTopic, ReaderRights, TopicAccess, TopicVerdict,
    marks::Judging,
    outbox::{Outbox, Overflow},
    patch::frame,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ReaderId(u64);

pub(super) struct Reader {
    /// Readers with equal sight share one.
    pub(super) sight: Arc<LiveSight>,
    topics: BTreeMap<LiveTopic, TopicAccess>,
    /// Topics of which the reader has to see the whole.
    stale: BTreeSet<LiveTopic>,
    /// Messages about whole topics (`denied`, `gone`), which go before all others.
    notices: VecDeque<Bytes>,
    outbox: Outbox,
    /// True if nothing may be sent before its rights are judged again.
    is_to_be_judged: bool,
    pub(super) notify: Arc<Notify>,
}

/// The next thing to do for a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReaderStep {
    Send(Bytes),
    Judge,
    Wait,
}

impl Reader {
    /// Returns the reader's access to a topic, unless the reader is to see it whole anyway.
    pub(super) fn fresh_access(&self, topic: LiveTopic) -> Option<TopicAccess> {
        let access = self.topics.get(&topic).copied();
        access.filter(|_| !self.stale.contains(&topic))
    }

    /// Gives the reader an event. If too much waits already, the reader sees all anew instead.
    pub(super) fn give(&mut self, event: Bytes) -> Result<(), Overflow> {
        self.notify.notify_one();
        let given = self.outbox.push(event);
        if given.is_err() {
            self.see_all_anew();
        }
        given
    }

    fn see_all_anew(&mut self) {
        self.outbox = Outbox::default();
        self.stale = self.topics.keys().copied().collect();
    }

    fn notice(&mut self, event: &str, topic: LiveTopic) {
        let data = format!(r#"{{"topic":"{topic}"}}"#);
        self.notices.push_back(frame(None, event, &data));
    }
}

impl Board {
    /// Adds a reader. `hello` is the data of its first event.
    pub(crate) fn join(
        &mut self,
        request: &LiveRequest,
        rights: ReaderRights,
        hello: &str,
        notify: Arc<Notify>,
    ) -> ReaderId {
        self.next_reader += 1;
        let id = ReaderId(self.next_reader);
        let mut reader = Reader {
            sight: self.shared_sight(rights.sight),
            topics: BTreeMap::new(),
            stale: BTreeSet::new(),
            notices: [frame(None, "hello", hello)].into(),
            outbox: Outbox::default(),
            is_to_be_judged: false,
            notify,
        };
        for (topic, verdict) in rights.topics {
            match verdict {
                TopicVerdict::Denied => reader.notice("denied", topic),
                TopicVerdict::Gone => reader.notice("gone", topic),
                TopicVerdict::Allowed(access) => {
                    reader.topics.insert(topic, access);
                    self.follow(topic, id, access.pipeline);
                }
            }
        }
        self.catch_up(&mut reader, request);
        self.readers.insert(id, reader);
        id
    }

    /// Gives the reader what it missed of topics that it knew, in the order in which it happened.
    fn catch_up(&self, reader: &mut Reader, request: &LiveRequest) {
        let mut missed = BTreeMap::new();
        for (topic, known) in &request.topics {
            let Some(access) = reader.topics.get(topic) else {
                continue;
            };
            let known = known.filter(|known| self.is_kept_since(*topic, *known));
            let patches = known.and_then(|known| self.journal.since(*topic, known.sequence));
            let Some(patches) = patches else {
                reader.stale.insert(*topic);
                continue;
            };
            for (sequence, body) in patches {
                let position = self.position(sequence);
                let event = body.render(*topic, position, &reader.sight, *access);
                missed.extend(event.map(|event| (sequence, event)));
            }
        }
        for (_, event) in missed {
            if reader.give(event).is_err() {
                return;
            }
        }
    }

    /// Returns true if every change of the topic since then became a patch of this run.
    fn is_kept_since(&self, topic: LiveTopic, known: LivePosition) -> bool {
        let entry = self.topics.get(&topic).filter(|entry| entry.is_loaded);
        let is_within = entry.is_some_and(|entry| known.sequence >= entry.since);
        is_within && known.boot == self.boot && known.sequence <= self.sequence
    }

    fn shared_sight(&self, sight: LiveSight) -> Arc<LiveSight> {
        let mut known = self.readers.values().map(|reader| &reader.sight);
        let equal = known.find(|known| ***known == sight);
        equal.cloned().unwrap_or_else(|| Arc::new(sight))
    }

    pub(crate) fn leave(&mut self, id: ReaderId, now: Instant) {
        let Some(reader) = self.readers.remove(&id) else {
            return;
        };
        for topic in reader.topics.keys() {
            self.unfollow(*topic, id, now);
        }
        self.forget_idle(now);
    }

    fn unfollow(&mut self, topic: LiveTopic, reader: ReaderId, now: Instant) {
        if let Some(entry) = self.topics.get_mut(&topic) {
            entry.readers.remove(&reader);
            entry.left_at = entry.readers.is_empty().then_some(now);
        }
    }

    /// Gives a reader the rights that were judged just now. Topics that are not allowed any more
    /// are silent from now on.
    pub(crate) fn judged(&mut self, id: ReaderId, rights: ReaderRights, now: Instant) {
        let sight = self.shared_sight(rights.sight);
        let Some(reader) = self.readers.get_mut(&id) else {
            return;
        };
        reader.is_to_be_judged = false;
        reader.notify.notify_one();
        let mut lost = Vec::new();
        for (topic, verdict) in rights.topics {
            match (reader.topics.get_mut(&topic), verdict) {
                (Some(access), TopicVerdict::Allowed(now_allowed)) => *access = now_allowed,
                (Some(_), TopicVerdict::Denied) => lost.push(("denied", topic)),
                (Some(_), TopicVerdict::Gone) => lost.push(("gone", topic)),
                (None, _) => {}
            }
        }
        for (event, topic) in &lost {
            reader.topics.remove(topic);
            reader.stale.remove(topic);
            reader.notice(event, *topic);
        }
        // What waits was rendered for other rights.
        if !lost.is_empty() || *reader.sight != *sight {
            reader.see_all_anew();
        }
        reader.sight = sight;
        for (_, topic) in lost {
            self.unfollow(topic, id, now);
        }
    }

    /// Marks readers whose rights may have changed.
    pub(super) fn have_judged(&mut self, judging: &Judging) {
        if judging.is_empty() {
            return;
        }
        let is_in = |access: &TopicAccess| {
            let pipeline = access.pipeline.as_ref();
            let job = access.job.as_ref();
            pipeline.is_some_and(|id| judging.pipelines.contains(id))
                || job.is_some_and(|id| judging.jobs.contains(id))
        };
        for reader in self.readers.values_mut() {
            if judging.all || reader.topics.values().any(is_in) {
                reader.is_to_be_judged = true;
                reader.notify.notify_one();
            }
        }
    }

    /// Takes the next thing to do for a reader. Patches wait until all topics were seen whole: the
    /// id of an event promises that all before it came.
    pub(crate) fn take(&mut self, id: ReaderId) -> ReaderStep {
        let Some(reader) = self.readers.get_mut(&id) else {
            return ReaderStep::Wait;
        };
        if reader.is_to_be_judged {
            return ReaderStep::Judge;
        }
        if let Some(notice) = reader.notices.pop_front() {
            return ReaderStep::Send(notice);
        }
        if reader.stale.is_empty() {
            return match reader.outbox.pop() {
                Some(event) => ReaderStep::Send(event),
                None => ReaderStep::Wait,
            };
        }
        let (stale, sight) = (reader.stale.clone(), reader.sight.clone());
        let is_last = stale.len() == 1 && reader.outbox.is_empty();
        let event = stale.into_iter().find_map(|topic| {
            let event = self.state_event(topic, &sight, is_last)?;
            Some((topic, event))
        });
        match event {
            None => ReaderStep::Wait,
            Some((topic, event)) => {
                if let Some(reader) = self.readers.get_mut(&id) {
                    reader.stale.remove(&topic);
                }
                ReaderStep::Send(event)
            }
        }
    }
}

/// Returns the data of a stream's first event.
pub(crate) fn hello(boot: u32, edition: &str, now: i64, beat: u64) -> String {
    let boot = format!("{boot:08x}");
    json!({"boot": boot, "edition": edition, "now": now, "beat": beat}).to_string()
}
