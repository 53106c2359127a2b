//! One change of a topic, as it is kept, and the bytes that each reader gets of it: pure.

use std::{fmt::Write, sync::Arc};

use airside_model::TeamId;
use bytes::Bytes;
use serde_json::Value;

use crate::{
    LivePosition, LiveSight, LiveTopic, TopicAccess, dashboard::DashboardPatch, fields::Fields,
    part::LivePart,
};

/// One change of one topic.
#[derive(Clone, Debug)]
pub(crate) enum PatchBody {
    Dashboard(Arc<DashboardPatch>),
    Fields(Arc<Fields>),
    Parts(Arc<[LivePart]>),
    /// Rows of the list of all builds, each with its owner.
    Rows(Arc<[(LivePart, RowOwner)]>),
    /// Readers who come back have to see the whole topic again: rights have changed.
    Reset,
}

/// The owner of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOwner {
    pub(crate) team: TeamId,
    pub(crate) public: bool,
}

/// Returns an event of the stream. `position` is left out where a reader could not go on from it.
pub(crate) fn frame(position: Option<LivePosition>, event: &str, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(position) = position {
        // Writing to a text does not fail.
        let _ = writeln!(text, "id: {position}");
    }
    let _ = write!(text, "event: {event}\ndata: {data}\n\n");
    text.into()
}

/// Returns an event about a topic; `fields` are the inside of a JSON object.
pub(crate) fn topic_frame(
    id: Option<LivePosition>,
    event: &str,
    (topic, version): (LiveTopic, u64),
    fields: &str,
) -> Bytes {
    let comma = if fields.is_empty() { "" } else { "," };
    let data = format!(r#"{{"topic":"{topic}","v":{version}{comma}{fields}}}"#);
    frame(id, event, &data)
}

/// Returns the inside of an object.
pub(crate) fn inside(fields: &Fields) -> String {
    let text = Value::Object(fields.clone()).to_string();
    text[1..text.len() - 1].to_owned()
}

impl PatchBody {
    /// Returns the event for a reader; `None` if the reader sees nothing of it.
    pub(crate) fn render(
        &self,
        topic: LiveTopic,
        position: LivePosition,
        sight: &LiveSight,
        access: TopicAccess,
    ) -> Option<Bytes> {
        let versioned = (topic, position.sequence);
        let patch = |fields: &str| topic_frame(Some(position), "patch", versioned, fields);
        match self {
            Self::Dashboard(dashboard) => dashboard.render(sight).map(|fields| patch(&fields)),
            Self::Fields(fields) => Some(patch(&inside(fields))),
            Self::Parts(parts) => {
                let seen = parts.iter();
                let seen = seen.filter(|part| access.sees_output || !part.needs_output());
                part_frame(position, topic, seen)
            }
            Self::Rows(rows) => {
                let seen = rows.iter();
                let seen = seen.filter(|(_, owner)| owner.public || sight.includes(owner.team));
                part_frame(position, topic, seen.map(|(part, _)| part))
            }
            Self::Reset => None,
        }
    }

    /// Returns about the bytes that the patch takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let own = size_of::<Self>();
        own + match self {
            Self::Dashboard(patch) => patch.weight(),
            Self::Fields(fields) => fields.values().map(value_weight).sum(),
            Self::Parts(parts) => size_of_val(&**parts),
            Self::Rows(rows) => size_of_val(&**rows),
            Self::Reset => 0,
        }
    }
}

fn value_weight(value: &Value) -> usize {
    /// A name and a short value, with what maps take for them.
    const PAIR: usize = 128;
    match value {
        Value::Object(inner) => PAIR + PAIR * inner.len(),
        _ => PAIR,
    }
}

fn part_frame<'a>(
    position: LivePosition,
    topic: LiveTopic,
    parts: impl Iterator<Item = &'a LivePart>,
) -> Option<Bytes> {
    let names: Vec<String> = parts.map(|part| format!("\"{part}\"")).collect();
    let fields = format!(r#""parts":[{}]"#, names.join(","));
    let versioned = (topic, position.sequence);
    (!names.is_empty()).then(|| topic_frame(Some(position), "part", versioned, &fields))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airside_model::BuildId;
    use serde_json::json;

    use super::*;

    const POSITION: LivePosition = LivePosition {
        boot: 0x3f9a_01bc,
        sequence: 58,
    };

    fn rendered(body: &PatchBody, sight: &LiveSight, sees_output: bool) -> Option<String> {
        let access = TopicAccess {
            sees_output,
            ..TopicAccess::default()
        };
        let topic = LiveTopic::Build(BuildId(7));
        let bytes = body.render(topic, POSITION, sight, access)?;
        Some(String::from_utf8(bytes.into()).unwrap())
    }

    #[test]
    fn fields_are_sent_as_they_are() {
        let fields = json!({"status": "failed", "name": "a\nb"});
        let Value::Object(fields) = fields else {
            panic!("not an object");
        };
        let body = PatchBody::Fields(Arc::new(fields));
        let expected = "id: 3f9a01bc-58\nevent: patch\ndata: {\"topic\":\"build:7\",\"v\":58,\
                        \"status\":\"failed\",\"name\":\"a\\nb\"}\n\n";
        assert_eq!(rendered(&body, &LiveSight::All, true).unwrap(), expected);
    }

    #[test]
    fn steps_are_for_those_who_see_output() {
        let body = PatchBody::Parts([LivePart::Top, LivePart::Steps].into());
        let whole = rendered(&body, &LiveSight::All, true).unwrap();
        assert!(whole.contains(r#""parts":["top","steps"]}"#), "{whole}");
        let part = rendered(&body, &LiveSight::All, false).unwrap();
        assert!(part.contains(r#""parts":["top"]}"#), "{part}");
        let body = PatchBody::Parts([LivePart::Steps].into());
        assert_eq!(rendered(&body, &LiveSight::All, false), None);
    }

    #[test]
    fn rows_of_others_are_not_told() {
        let row = |id, team, public| {
            let team = TeamId(team);
            (LivePart::Build(BuildId(id)), RowOwner { team, public })
        };
        let rows = [row(1, 1, false), row(2, 2, true), row(3, 2, false)];
        let body = PatchBody::Rows(rows.into());
        let sight = |teams: &[i64]| {
            let teams = teams.iter().map(|team| TeamId(*team));
            LiveSight::Teams(teams.collect::<BTreeSet<_>>())
        };
        for (sight, expected) in [
            (LiveSight::All, r#"["build:1","build:2","build:3"]"#),
            (sight(&[1]), r#"["build:1","build:2"]"#),
            (sight(&[2]), r#"["build:2","build:3"]"#),
            (sight(&[]), r#"["build:2"]"#),
        ] {
            let text = rendered(&body, &sight, false).unwrap();
            assert!(text.contains(expected), "{sight:?}: {text}");
        }
        let hidden = PatchBody::Rows([rows[0]].into());
        assert_eq!(rendered(&hidden, &sight(&[2]), true), None);
    }
}
