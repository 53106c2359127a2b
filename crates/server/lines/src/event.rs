//! The events that make lines, read from the envelopes in which logs have them.

use std::borrow::Cow;

use airside_logs::LogEntry;
use memchr::memmem;
use serde::Deserialize;

/// The effect of an event on the output of one step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StepEvent<'a> {
    pub(crate) step: Cow<'a, str>,
    /// Unix seconds.
    pub(crate) time: i64,
    pub(crate) effect: Effect<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect<'a> {
    Printed(Cow<'a, str>),
    Ended,
    Erred(Cow<'a, str>),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(default)]
    time: i64,
    #[serde(borrow)]
    origin: Origin<'a>,
    payload: Option<Text<'a>>,
    message: Option<Text<'a>>,
    selected_worker: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Origin<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// A text that is borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The line that Concourse's UI shows when a step waits for a worker.
const WAITING: &str = "\u{1b}[1mno suitable workers found, waiting for worker...\u{1b}[0m\n";

/// Returns the effect of an entry on a step; none if it has none.
pub(crate) fn read(entry: &LogEntry) -> Option<StepEvent<'_>> {
    let envelope: Envelope<'_> = serde_json::from_slice(entry.envelope.as_bytes()).ok()?;
    let data = envelope.data;
    let effect = match &*envelope.event {
        "log" => Effect::Printed(data.payload?.0),
        "waiting-for-worker" => Effect::Printed(WAITING.into()),
        "selected-worker" => {
            let worker = data.selected_worker?.0;
            let line = format!("\u{1b}[1mselected worker: \u{1b}[0m{worker}\n");
            Effect::Printed(line.into())
        }
        "error" => Effect::Erred(data.message?.0),
        "finish-task" | "finish-get" | "finish-put" | "finish" => Effect::Ended,
        _ => return None,
    };
    Some(StepEvent {
        step: data.origin.id,
        time: data.time,
        effect,
    })
}

/// The most bytes before the origin of an output event: its time, in words of JSON.
const BEFORE_ORIGIN: usize = 64;

/// Returns true if an entry is certainly of another step. Costs much less than reading it.
pub(crate) fn is_of_another(entry: &LogEntry, steps: &[&str]) -> bool {
    const TIME: &[u8] = br#"{"data":{"time":"#;
    const ORIGIN: &[u8] = br#","origin":{"id":""#;
    let bytes = entry.envelope.as_bytes();
    if !bytes.starts_with(TIME) {
        return false;
    }
    let start = &bytes[..bytes.len().min(BEFORE_ORIGIN)];
    let Some(at) = memmem::find(start, ORIGIN) else {
        return false;
    };
    let id = &bytes[at + ORIGIN.len()..];
    let Some(end) = memchr::memchr2(b'"', b'\\', id) else {
        return false;
    };
    id[end] == b'"' && !steps.iter().any(|step| step.as_bytes() == &id[..end])
}

/// Output as it was printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedText {
    /// Unix seconds.
    pub time: i64,
    pub text: String,
}

impl PrintedText {
    /// Reads an entry; none if it is not output of the step, or of any if none is given. A step's
    /// error is a line.
    pub fn read(entry: &LogEntry, step: Option<&str>) -> Option<Self> {
        if step.is_some_and(|step| is_of_another(entry, &[step])) {
            return None;
        }
        let event = read(entry)?;
        if step.is_some_and(|step| step != event.step) {
            return None;
        }
        let text = match event.effect {
            Effect::Printed(text) => text.into_owned(),
            Effect::Erred(message) => format!("{message}\n"),
            Effect::Ended => return None,
        };
        Some(Self {
            time: event.time,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use airside_model::{
        PlanId,
        event::{Event, Origin},
    };

    use super::*;

    fn entry(event: &Event) -> LogEntry {
        LogEntry {
            id: 3,
            envelope: event.envelope(3).into(),
        }
    }

    fn origin(step: &str) -> Origin {
        Origin::step(&PlanId::new(step))
    }

    fn log(step: &str, payload: &str) -> LogEntry {
        entry(&Event::Log {
            time: 7,
            origin: origin(step),
            payload: payload.to_owned(),
        })
    }

    #[test]
    fn output_and_ends_are_read() {
        let printed = log("5f", "a \"b\"\n");
        let event = read(&printed).unwrap();
        assert_eq!((&*event.step, event.time), ("5f", 7));
        assert_eq!(event.effect, Effect::Printed("a \"b\"\n".into()));
        let time = 8;
        let ended = entry(&Event::Finish {
            origin: origin("5f"),
            time,
            succeeded: true,
        });
        assert_eq!(read(&ended).unwrap().effect, Effect::Ended);
        let erred = entry(&Event::Error {
            message: "no".into(),
            origin: origin("5f"),
            time,
        });
        assert_eq!(read(&erred).unwrap().effect, Effect::Erred("no".into()));
        let started = entry(&Event::Start {
            origin: origin("5f"),
            time,
        });
        assert_eq!(read(&started), None);
        let selected = entry(&Event::SelectedWorker {
            origin: origin("5f"),
            time,
            selected_worker: "n1".into(),
        });
        let Effect::Printed(line) = read(&selected).unwrap().effect else {
            panic!("a worker is a line");
        };
        assert_eq!(line, "\u{1b}[1mselected worker: \u{1b}[0mn1\n");
    }

    #[test]
    fn other_steps_are_known_by_their_first_bytes() {
        assert!(is_of_another(&log("5f", "x"), &["5", "5f2"]));
        assert!(!is_of_another(&log("5f", "x"), &["1", "5f"]));
        // What is not plain is read.
        assert!(!is_of_another(&log("5\"f", "x"), &["1"]));
        let erred = entry(&Event::Error {
            message: "no".into(),
            origin: origin("5f"),
            time: 1,
        });
        assert!(!is_of_another(&erred, &["1"]));
    }

    #[test]
    fn text_is_that_of_one_step_or_of_all() {
        let printed = log("5f", "a\u{1b}[1mb\r\n");
        let text = PrintedText::read(&printed, None).unwrap();
        assert_eq!((text.time, text.text.as_str()), (7, "a\u{1b}[1mb\r\n"));
        assert!(PrintedText::read(&printed, Some("5f")).is_some());
        assert!(PrintedText::read(&printed, Some("5")).is_none());
    }
}
