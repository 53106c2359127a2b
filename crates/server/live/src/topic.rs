//! Topics, and the list of them that a reader asks for.

use std::{fmt, str::FromStr};

use airside_model::{BuildId, JobId, PipelineId, ResourceId};

/// Number of topics that one reader may follow.
pub const MAX_TOPICS: usize = 64;

/// Length of a list of topics.
const MAX_LIST_BYTES: usize = 4096;

/// A thing that readers follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LiveTopic {
    Dashboard,
    Pipeline(PipelineId),
    Job(JobId),
    Build(BuildId),
    Resource(ResourceId),
    Workers,
    Builds,
}

impl fmt::Display for LiveTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dashboard => f.write_str("dashboard"),
            Self::Pipeline(id) => write!(f, "pipeline:{id}"),
            Self::Job(id) => write!(f, "job:{id}"),
            Self::Build(id) => write!(f, "build:{id}"),
            Self::Resource(id) => write!(f, "resource:{id}"),
            Self::Workers => f.write_str("workers"),
            Self::Builds => f.write_str("builds"),
        }
    }
}

/// A list of topics that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTopics {
    #[error("no topics are given")]
    Empty,
    #[error("the list of topics is longer than {MAX_LIST_BYTES} bytes")]
    TooLong,
    #[error("more than {MAX_TOPICS} topics are given")]
    TooMany,
    #[error(
        "the list of topics cannot be read at number {at}: a topic is dashboard, pipeline:ID, job:ID, \
         build:ID, resource:ID, workers or builds"
    )]
    Unknown { at: usize },
}

impl FromStr for LiveTopic {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let Some((kind, id)) = text.split_once(':') else {
            return match text {
                "dashboard" => Ok(Self::Dashboard),
                "workers" => Ok(Self::Workers),
                "builds" => Ok(Self::Builds),
                _ => Err(()),
            };
        };
        // As it is written, so that a topic has one name.
        let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let id: i64 = id.parse().ok().filter(|_| is_number).ok_or(())?;
        match kind {
            "pipeline" => Ok(Self::Pipeline(PipelineId(id))),
            "job" => Ok(Self::Job(JobId(id))),
            "build" => Ok(Self::Build(BuildId(id))),
            "resource" => Ok(Self::Resource(ResourceId(id))),
            _ => Err(()),
        }
    }
}

/// A place in the order of all changes that one run of the server pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePosition {
    /// Distinguishes runs of the server.
    pub boot: u32,
    pub sequence: u64,
}

impl fmt::Display for LivePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{}", self.boot, self.sequence)
    }
}

impl LivePosition {
    /// Reads a position as it is written in ids of events. A text that is not one is `None`: such a
    /// reader knows nothing yet.
    pub fn parse(text: &str) -> Option<Self> {
        let (boot, sequence) = text.split_once('-')?;
        Some(Self {
            boot: u32::from_str_radix(boot, 16)
                .ok()
                .filter(|_| boot.len() == 8)?,
            sequence: sequence.parse().ok()?,
        })
    }
}

/// The topics that a reader asks for, each with the position up to which the reader knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRequest {
    pub(crate) topics: Vec<(LiveTopic, Option<LivePosition>)>,
}

impl LiveRequest {
    /// Reads a list of topics, joined by commas. `last` is the id of the last event that a reader
    /// got of the same list before its connection broke.
    pub fn parse(list: &str, last: Option<&str>) -> Result<Self, BadTopics> {
        if list.is_empty() {
            return Err(BadTopics::Empty);
        }
        if list.len() > MAX_LIST_BYTES {
            return Err(BadTopics::TooLong);
        }
        let last = last.and_then(LivePosition::parse);
        let mut topics: Vec<(LiveTopic, Option<LivePosition>)> = Vec::new();
        for (text, at) in list.split(',').zip(1..) {
            let (name, known) = match text.split_once('@') {
                Some((name, known)) => (name, LivePosition::parse(known)),
                None => (text, None),
            };
            let topic = name.parse().map_err(|()| BadTopics::Unknown { at })?;
            if topics.iter().any(|(listed, _)| *listed == topic) {
                continue;
            }
            if topics.len() == MAX_TOPICS {
                return Err(BadTopics::TooMany);
            }
            topics.push((topic, last.or(known)));
        }
        Ok(Self { topics })
    }

    /// Returns the topics in the order in which they were asked for.
    pub fn topics(&self) -> impl Iterator<Item = LiveTopic> {
        self.topics.iter().map(|(topic, _)| *topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sequence: u64) -> Option<LivePosition> {
        let boot = 0x0a;
        Some(LivePosition { boot, sequence })
    }

    #[test]
    fn a_list_is_read_as_it_is_written() {
        let list = "dashboard@0000000a-7,build:9041,workers,builds,pipeline:3,job:4,resource:5@x,\
                    build:9041@0000000a-9";
        let request = LiveRequest::parse(list, None).unwrap();
        let names: Vec<String> = request.topics().map(|topic| topic.to_string()).collect();
        let expected = "dashboard,build:9041,workers,builds,pipeline:3,job:4,resource:5";
        assert_eq!(names.join(","), expected);
        let known: Vec<_> = request.topics.iter().map(|(_, known)| *known).collect();
        assert_eq!(known[0], at(7));
        assert!(known[1..].iter().all(Option::is_none));
    }

    #[test]
    fn the_last_event_counts_for_all_topics() {
        let list = "dashboard@0000000a-7,workers";
        let request = LiveRequest::parse(list, Some("0000000a-12")).unwrap();
        assert!(request.topics.iter().all(|(_, known)| *known == at(12)));
        let request = LiveRequest::parse(list, Some("'; DROP TABLE")).unwrap();
        assert_eq!(request.topics[0].1, at(7));
    }

    #[test]
    fn hostile_lists_are_refused() {
        let many = |number: i64| -> String {
            let topics = (0..number).map(|id| format!("job:{id}"));
            topics.collect::<Vec<_>>().join(",")
        };
        assert_eq!(
            LiveRequest::parse(&many(64), None).unwrap().topics.len(),
            64
        );
        let long = format!("dashboard{}", ",dashboard".repeat(500));
        let unknown = |at| BadTopics::Unknown { at };
        for (list, expected) in [
            ("", BadTopics::Empty),
            (long.as_str(), BadTopics::TooLong),
            (&many(65), BadTopics::TooMany),
            (",", unknown(1)),
            ("dashboard,", unknown(2)),
            ("Dashboard", unknown(1)),
            ("dashboard:1", unknown(1)),
            ("build", unknown(1)),
            ("build:", unknown(1)),
            ("build:-1", unknown(1)),
            ("build:+1", unknown(1)),
            ("build: 1", unknown(1)),
            ("build:1\n", unknown(1)),
            ("build:9223372036854775808", unknown(1)),
            ("workers,team:1", unknown(2)),
            ("dashboard\u{0}", unknown(1)),
        ] {
            assert_eq!(LiveRequest::parse(list, None), Err(expected), "{list:?}");
        }
    }

    #[test]
    fn positions_are_read_as_they_are_written() {
        let position = LivePosition {
            boot: 0x3f9a_01bc,
            sequence: 57,
        };
        assert_eq!(position.to_string(), "3f9a01bc-57");
        assert_eq!(LivePosition::parse("3f9a01bc-57"), Some(position));
        for broken in [
            "",
            "-",
            "57",
            "3f9a01bc-",
            "3f9a01bc--1",
            "f-57",
            "3f9a01bg-5",
        ] {
            assert_eq!(LivePosition::parse(broken), None, "{broken:?}");
        }
    }
}
