//! The agent's memory of pulls between two turns. It can be lost: what matters after a restart is
//! read back from the last reported status.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use airside_image_rules::{
    NodeImageState, NodeImagesStatus,
    plan::{Attempts, DesiredImage},
};
use jiff::Timestamp;
use tokio::task::AbortHandle;

use super::{
    pull::{How, PullEnd},
    wanted::DesiredPull,
};

/// All by the image's content.
#[derive(Default)]
pub(crate) struct PullMemory {
    pub(crate) attempts: BTreeMap<String, Attempts>,
    /// Message of the last failure.
    pub(crate) words: BTreeMap<String, String>,
    pub(crate) pulling: BTreeMap<String, Pulling>,
    /// Pulls that may not begin yet, and are not failures.
    pub(crate) held: BTreeMap<String, HeldPull>,
    /// Time since which an image, by name and content, is in its state.
    pub(crate) since: BTreeMap<String, (NodeImageState, Timestamp)>,
    /// Generation of the sets for which failures are counted.
    pub(crate) generations: BTreeMap<String, i64>,
    /// Pulls that were under way when the earlier agent ended. Their images are ours.
    pub(crate) broken_off: BTreeMap<String, Timestamp>,
}

pub(crate) struct Pulling {
    pub(crate) since: Timestamp,
    pub(crate) task: AbortHandle,
}

#[derive(Clone, Debug)]
pub(crate) struct HeldPull {
    pub(crate) until: Timestamp,
    pub(crate) why: String,
}

impl PullMemory {
    /// Reads back the status that an earlier agent reported.
    pub(crate) fn recall(&mut self, said: &NodeImagesStatus) {
        for image in &said.images {
            let Ok(name) = image.image.parse::<airside_oci::Reference>() else {
                continue;
            };
            let Ok(digest) = airside_oci::Digest::parse(&image.digest) else {
                continue;
            };
            let content = name.at(&digest).to_string();
            let since = image.since.as_ref().map(|time| time.0);
            if image.state == NodeImageState::Pulling {
                let since = since.unwrap_or_else(Timestamp::now);
                self.broken_off.insert(content.clone(), since);
            }
            if let Some(since) = since {
                self.since
                    .insert(format!("{name} {content}"), (image.state, since));
            }
            if image.attempts > 0 || image.collected {
                let attempts = Attempts {
                    failures: image.attempts,
                    last: since.filter(|_| image.attempts > 0),
                    collected: image.collected,
                };
                self.attempts.insert(content.clone(), attempts);
            }
            if image.attempts > 0 {
                self.words.insert(content, image.message.clone());
            }
        }
    }

    /// Forgets images that no set wants any more, and breaks off their pulls; a set that wants them
    /// again begins anew.
    pub(crate) fn keep_only(&mut self, wants: &[DesiredPull]) {
        let contents: BTreeSet<String> = wants
            .iter()
            .map(|want| want.wanted.content.to_string())
            .collect();
        self.pulling.retain(|content, pulling| {
            let is_wanted = contents.contains(content);
            if !is_wanted {
                pulling.task.abort();
            }
            is_wanted
        });
        self.begin_anew(wants);
        self.attempts
            .retain(|content, _| contents.contains(content));
        self.words.retain(|content, _| contents.contains(content));
        self.held.retain(|content, _| contents.contains(content));
        let names: BTreeSet<String> = wants.iter().map(|want| key(&want.wanted)).collect();
        self.since.retain(|name, _| names.contains(name));
    }

    /// Failures of what is now wanted otherwise do not count any more.
    fn begin_anew(&mut self, wants: &[DesiredPull]) {
        let now: BTreeMap<String, i64> = wants
            .iter()
            .map(|want| (want.wanted.content.to_string(), want.generation))
            .collect();
        for (content, generation) in &now {
            let before = self.generations.get(content);
            if before.is_some_and(|before| before != generation)
                && let Some(attempts) = self.attempts.get_mut(content)
            {
                *attempts = Attempts {
                    collected: attempts.collected,
                    ..Attempts::default()
                };
                self.held.remove(content);
            }
        }
        self.generations = now;
    }

    pub(crate) fn release(&mut self, now: Timestamp) {
        self.held.retain(|_, held| held.until > now);
    }

    pub(crate) fn ended(&mut self, ended: &PullEnd, now: Timestamp) {
        let content = ended.want.wanted.content.to_string();
        // Broken off meanwhile, as no set wanted it any more.
        if self.pulling.remove(&content).is_none() {
            return;
        }
        match &ended.how {
            How::Done => {
                self.attempts.remove(&content);
                self.words.remove(&content);
            }
            How::Later(wait, why) => {
                let until = after(now, *wait);
                let why = why.clone();
                self.held.insert(content, HeldPull { until, why });
            }
            How::Failed(words) => {
                let attempts = self.attempts.entry(content.clone()).or_default();
                *attempts = attempts.failed(now);
                self.words.insert(content, words.clone());
            }
        }
    }

    /// Notes that the image was removed to make room.
    pub(crate) fn collected(&mut self, wanted: &DesiredImage) {
        let attempts = self.attempts.entry(wanted.content.to_string());
        attempts.or_default().collected = true;
    }
}

pub(crate) fn key(wanted: &DesiredImage) -> String {
    format!("{} {}", wanted.name, wanted.content)
}

pub(crate) fn after(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(wait).unwrap_or(now)
}
