//! Build events, in the types and versions that `fly` understands.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{BuildStatus, MetadataField, PlanId, TaskConfig, Version, json_text};

/// The step that an event came from, and for output the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub id: PlanId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl Origin {
    pub fn step(id: &PlanId) -> Self {
        Self {
            id: id.clone(),
            source: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Stdout,
    Stderr,
}

/// Unix seconds.
pub type Time = i64;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Status {
        status: BuildStatus,
        time: Time,
    },
    Log {
        time: Time,
        origin: Origin,
        payload: String,
    },
    Error {
        message: String,
        origin: Origin,
        time: Time,
    },
    InitializeTask {
        time: Time,
        origin: Origin,
        config: Box<TaskConfig>,
    },
    StartTask {
        time: Time,
        origin: Origin,
        config: Box<TaskConfig>,
    },
    FinishTask {
        time: Time,
        exit_status: i32,
        origin: Origin,
    },
    InitializeGet {
        origin: Origin,
        time: Time,
    },
    StartGet {
        origin: Origin,
        time: Time,
    },
    FinishGet(FinishResource),
    InitializePut {
        origin: Origin,
        time: Time,
    },
    StartPut {
        origin: Origin,
        time: Time,
    },
    FinishPut(FinishResource),
    /// Begins a step of a kind without an event of its own.
    Initialize {
        origin: Origin,
        time: Time,
    },
    Start {
        origin: Origin,
        time: Time,
    },
    Finish {
        origin: Origin,
        time: Time,
        succeeded: bool,
    },
    InitializeCheck {
        origin: Origin,
        time: Time,
        name: String,
    },
    SetPipelineChanged {
        origin: Origin,
        changed: bool,
    },
    /// The public plan that looks for the version of a step's image.
    ImageCheck {
        time: Time,
        origin: Origin,
        plan: Value,
    },
    /// The public plan that fetches a step's image.
    ImageGet {
        time: Time,
        origin: Origin,
        plan: Value,
    },
    /// The public plan of each combination of values, and the values.
    AcrossSubsteps {
        time: Time,
        origin: Origin,
        substeps: Vec<Value>,
    },
    WaitingForWorker {
        time: Time,
        origin: Origin,
    },
    SelectedWorker {
        time: Time,
        origin: Origin,
        selected_worker: String,
    },
}

/// The end of a get or put.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishResource {
    pub origin: Origin,
    pub time: Time,
    pub exit_status: i32,
    pub version: Version,
    pub metadata: Vec<MetadataField>,
}

impl Event {
    /// The event's name and version on the wire.
    pub fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Self::Status { .. } => ("status", "1.0"),
            Self::Log { .. } => ("log", "5.1"),
            Self::Error { .. } => ("error", "4.1"),
            Self::InitializeTask { .. } => ("initialize-task", "4.0"),
            Self::StartTask { .. } => ("start-task", "5.0"),
            Self::FinishTask { .. } => ("finish-task", "4.0"),
            Self::InitializeGet { .. } => ("initialize-get", "2.0"),
            Self::StartGet { .. } => ("start-get", "1.0"),
            Self::FinishGet(_) => ("finish-get", "5.1"),
            Self::InitializePut { .. } => ("initialize-put", "2.0"),
            Self::StartPut { .. } => ("start-put", "1.0"),
            Self::FinishPut(_) => ("finish-put", "5.1"),
            Self::Initialize { .. } => ("initialize", "1.0"),
            Self::Start { .. } => ("start", "1.0"),
            Self::Finish { .. } => ("finish", "1.0"),
            Self::InitializeCheck { .. } => ("initialize-check", "1.0"),
            Self::SetPipelineChanged { .. } => ("set-pipeline-changed", "1.0"),
            Self::ImageCheck { .. } => ("image-check", "1.1"),
            Self::ImageGet { .. } => ("image-get", "1.1"),
            Self::AcrossSubsteps { .. } => ("across-substeps", "1.0"),
            Self::WaitingForWorker { .. } => ("waiting-for-worker", "1.0"),
            Self::SelectedWorker { .. } => ("selected-worker", "1.0"),
        }
    }

    /// The payload under `data`.
    pub fn data(&self) -> Value {
        match self {
            Self::Status { status, time } => json!({"status": status, "time": time}),
            Self::Log {
                time,
                origin,
                payload,
            } => {
                json!({"time": time, "origin": origin, "payload": payload})
            }
            Self::Error {
                message,
                origin,
                time,
            } => {
                json!({"message": message, "origin": origin, "time": time})
            }
            Self::InitializeTask {
                time,
                origin,
                config,
            }
            | Self::StartTask {
                time,
                origin,
                config,
            } => {
                json!({"time": time, "origin": origin, "config": shown_config(config)})
            }
            Self::FinishTask {
                time,
                exit_status,
                origin,
            } => {
                json!({"time": time, "exit_status": exit_status, "origin": origin})
            }
            Self::InitializeGet { origin, time }
            | Self::StartGet { origin, time }
            | Self::InitializePut { origin, time }
            | Self::StartPut { origin, time }
            | Self::Initialize { origin, time }
            | Self::Start { origin, time }
            | Self::WaitingForWorker { time, origin } => json!({"origin": origin, "time": time}),
            Self::FinishGet(finish) | Self::FinishPut(finish) => finish.data(),
            Self::Finish {
                origin,
                time,
                succeeded,
            } => json!({"origin": origin, "time": time, "succeeded": succeeded}),
            Self::InitializeCheck { origin, time, name } => {
                json!({"origin": origin, "time": time, "name": name})
            }
            Self::SetPipelineChanged { origin, changed } => {
                json!({"origin": origin, "changed": changed})
            }
            Self::ImageCheck { time, origin, plan } | Self::ImageGet { time, origin, plan } => {
                json!({"time": time, "origin": origin, "plan": plan})
            }
            Self::AcrossSubsteps {
                time,
                origin,
                substeps,
            } => json!({"time": time, "origin": origin, "substeps": substeps}),
            Self::SelectedWorker {
                time,
                origin,
                selected_worker,
            } => {
                json!({"time": time, "origin": origin, "selected_worker": selected_worker})
            }
        }
    }

    /// The compact envelope that an event stream carries under `data:`.
    pub fn envelope(&self, id: u64) -> String {
        let mut out = Vec::new();
        self.write_envelope(id, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the envelope to `out`. Output is most of all that is written, so it goes there
    /// directly.
    pub fn write_envelope(&self, id: u64, out: &mut Vec<u8>) {
        let (event, version) = self.kind();
        out.extend_from_slice(b"{\"data\":");
        let written = match self {
            Self::Log {
                time,
                origin,
                payload,
            } => write_output(*time, origin, payload, out),
            _ => serde_json::to_writer(&mut *out, &self.data()),
        };
        debug_assert!(
            written.is_ok(),
            "events are always JSON, and memory takes them"
        );
        let rest = format!(r#","event":"{event}","version":"{version}","event_id":"{id}"}}"#);
        out.extend_from_slice(rest.as_bytes());
    }
}

/// Writes the data of an output event, as [`Event::data`] returns it.
fn write_output(
    time: Time,
    origin: &Origin,
    payload: &str,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    out.extend_from_slice(format!(r#"{{"time":{time},"origin":"#).as_bytes());
    serde_json::to_writer(&mut *out, origin)?;
    out.extend_from_slice(br#","payload":"#);
    json_text::write_string(payload, out);
    out.push(b'}');
    Ok(())
}

impl FinishResource {
    fn data(&self) -> Value {
        let mut data = json!({
            "origin": self.origin,
            "time": self.time,
            "exit_status": self.exit_status,
            "version": self.version,
        });
        if !self.metadata.is_empty() {
            data["metadata"] = json!(self.metadata);
        }
        data
    }
}

/// Returns the part of a task's configuration that events show: image, command and path, no params.
fn shown_config(config: &TaskConfig) -> Value {
    let inputs: Vec<Value> = config
        .inputs
        .iter()
        .map(|input| json!({"name": input.name, "path": input.path}))
        .collect();
    json!({
        "platform": config.platform,
        "image": "",
        "run": {"path": config.run.path, "args": config.run.args, "dir": config.run.dir},
        "inputs": inputs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_is_compact() {
        let event = Event::Error {
            message: "no".into(),
            origin: Origin::step(&PlanId::new("1")),
            time: 7,
        };
        assert_eq!(
            event.envelope(3),
            r#"{"data":{"message":"no","origin":{"id":"1"},"time":7},"event":"error","version":"4.1","event_id":"3"}"#
        );
    }

    #[test]
    fn output_has_the_same_envelope_without_a_detour() {
        let event = Event::Log {
            time: 7,
            origin: Origin {
                id: PlanId::new("1"),
                source: Some(Source::Stderr),
            },
            payload: "a \"line\"\r\n\u{1b}[0m é".into(),
        };
        let (name, version) = event.kind();
        let detour =
            json!({"data": event.data(), "event": name, "version": version, "event_id": "3"});
        assert_eq!(event.envelope(3), detour.to_string());
    }
}
