//! The topics that are followed, with their state, and those who follow them. No I/O: what is to be
//! read is named by [`Board::needs`], and what was read comes back to [`Board::apply`].

mod apply;
mod needs;
mod readers;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use airside_model::PipelineId;
use bytes::Bytes;
use tokio::time::Instant;

pub(crate) use needs::{Needs, Reads};
pub(crate) use readers::{ReaderId, ReaderStep, hello};

use crate::{
    LivePosition, LiveSight, LiveTopic,
    dashboard::DashboardState,
    fields::Fields,
    journal::Journal,
    patch::{PatchBody, inside, topic_frame},
};
use readers::Reader;

/// Time for which a topic is kept up after its last reader has left.
const KEPT_UP: Duration = Duration::from_secs(60);

/// Number of topics without readers that are kept up.
const MAX_IDLE: usize = 1024;

pub(crate) struct Board {
    boot: u32,
    sequence: u64,
    topics: HashMap<LiveTopic, FollowedTopic>,
    readers: HashMap<ReaderId, Reader>,
    next_reader: u64,
    journal: Journal,
    pub(crate) counts: BoardCounts,
}

/// Numbers for metrics, since they were taken last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BoardCounts {
    pub(crate) patches: u64,
    pub(crate) overflows: u64,
}

/// The content of a topic.
#[derive(Debug)]
enum TopicContent {
    Dashboard(DashboardState),
    Fields(Fields),
    /// Pages fetch all that they show.
    Nothing,
}

struct FollowedTopic {
    content: TopicContent,
    /// True if the content was read.
    is_loaded: bool,
    /// Sequence of the last patch.
    version: u64,
    /// Sequence from which on every change became a patch.
    since: u64,
    readers: BTreeSet<ReaderId>,
    left_at: Option<Instant>,
    pipeline: Option<PipelineId>,
    /// The whole state as readers with this sight see it.
    rendered: HashMap<Arc<LiveSight>, Arc<str>>,
}

impl Board {
    pub(crate) fn new(boot: u32) -> Self {
        Self {
            boot,
            sequence: 0,
            topics: HashMap::new(),
            readers: HashMap::new(),
            next_reader: 0,
            journal: Journal::default(),
            counts: BoardCounts::default(),
        }
    }

    pub(crate) fn readers(&self) -> usize {
        self.readers.len()
    }

    fn position(&self, sequence: u64) -> LivePosition {
        let boot = self.boot;
        LivePosition { boot, sequence }
    }

    /// Begins to keep up a topic, unless it is.
    fn follow(&mut self, topic: LiveTopic, reader: ReaderId, pipeline: Option<PipelineId>) {
        let content = match topic {
            LiveTopic::Dashboard => TopicContent::Dashboard(DashboardState::default()),
            LiveTopic::Pipeline(_) | LiveTopic::Build(_) => TopicContent::Fields(Fields::new()),
            _ => TopicContent::Nothing,
        };
        let is_loaded = matches!(content, TopicContent::Nothing);
        let is_new = !self.topics.contains_key(&topic);
        let entry = self.topics.entry(topic).or_insert_with(|| FollowedTopic {
            content,
            is_loaded,
            version: 0,
            since: u64::MAX,
            readers: BTreeSet::new(),
            left_at: None,
            pipeline,
            rendered: HashMap::new(),
        });
        entry.readers.insert(reader);
        entry.left_at = None;
        if is_new && is_loaded {
            self.loaded(topic);
        }
    }

    /// Notes that the topic's content is known from now on.
    fn loaded(&mut self, topic: LiveTopic) {
        self.sequence += 1;
        let Some(entry) = self.topics.get_mut(&topic) else {
            return;
        };
        entry.is_loaded = true;
        entry.rendered.clear();
        (entry.version, entry.since) = (self.sequence, self.sequence);
        for reader in &entry.readers {
            if let Some(reader) = self.readers.get(reader) {
                reader.notify.notify_one();
            }
        }
    }

    /// Forgets topics that have had no readers for long.
    fn forget_idle(&mut self, now: Instant) {
        let idle = |entry: &FollowedTopic| entry.left_at.is_some();
        let are_many = self.topics.values().filter(|entry| idle(entry)).count() > MAX_IDLE;
        self.topics.retain(|_, entry| match entry.left_at {
            Some(left_at) => !are_many && now.duration_since(left_at) < KEPT_UP,
            None => true,
        });
    }

    /// Gives a change of a topic to all who follow it, and keeps it for those who come back. It is
    /// rendered once for all readers who see the same.
    fn publish(&mut self, topic: LiveTopic, body: PatchBody) {
        self.sequence += 1;
        let position = self.position(self.sequence);
        let Some(entry) = self.topics.get_mut(&topic) else {
            return;
        };
        entry.version = self.sequence;
        entry.rendered.clear();
        self.counts.patches += 1;
        let mut rendered: HashMap<(*const LiveSight, bool), Option<Bytes>> = HashMap::new();
        for id in &entry.readers {
            let Some(reader) = self.readers.get_mut(id) else {
                continue;
            };
            let Some(access) = reader.fresh_access(topic) else {
                continue;
            };
            let key = (Arc::as_ptr(&reader.sight), access.sees_output);
            let event = rendered
                .entry(key)
                .or_insert_with(|| body.render(topic, position, &reader.sight, access));
            if let Some(event) = event
                && reader.give(event.clone()).is_err()
            {
                self.counts.overflows += 1;
            }
        }
        self.journal.push(self.sequence, topic, body);
    }

    /// Returns the whole of a topic, as a reader with this sight sees it: the inside of a JSON
    /// object, and its version. `None`: it was not read yet.
    fn state_of(&mut self, topic: LiveTopic, sight: &Arc<LiveSight>) -> Option<(u64, Arc<str>)> {
        let entry = self.topics.get_mut(&topic)?;
        if !entry.is_loaded {
            return None;
        }
        let fields = match &entry.content {
            TopicContent::Nothing => "".into(),
            TopicContent::Fields(fields) => inside(fields).into(),
            TopicContent::Dashboard(state) => {
                let rendered = entry.rendered.entry(sight.clone());
                rendered
                    .or_insert_with(|| format!(r#""items":[{}]"#, state.render(sight)).into())
                    .clone()
            }
        };
        Some((entry.version, fields))
    }

    fn state_event(
        &mut self,
        topic: LiveTopic,
        sight: &Arc<LiveSight>,
        is_last: bool,
    ) -> Option<Bytes> {
        let (version, fields) = self.state_of(topic, sight)?;
        let id = is_last.then(|| self.position(self.sequence));
        Some(topic_frame(id, "state", (topic, version), &fields))
    }

    /// Returns the dashboard as a document, if it was read.
    pub(crate) fn dashboard(&mut self, sight: &Arc<LiveSight>) -> Option<String> {
        let (version, fields) = self.state_of(LiveTopic::Dashboard, sight)?;
        let boot = self.boot;
        Some(format!(r#"{{"boot":"{boot:08x}","v":{version},{fields}}}"#))
    }
}
