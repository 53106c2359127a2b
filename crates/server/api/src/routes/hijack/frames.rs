//! The frames of a hijack, as `fly` writes and reads them.

use airside_hub::{HijackEvent, HijackInput, HijackRequest};
use airside_model::event::Source;
use airside_protocol::{Exit, Tty};
use axum::extract::ws::Message;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

/// `fly intercept` asks for this unless it is given a program, and for `sh` where it is not found.
const DEFAULT_SHELL: &str = "bash";

#[derive(Debug, Deserialize)]
pub(super) struct Process {
    path: String,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    env: Option<Vec<String>>,
    #[serde(default)]
    dir: String,
    #[serde(default)]
    user: String,
    #[serde(default)]
    tty: Option<Terminal>,
}

#[derive(Debug, Deserialize)]
struct Terminal {
    window_size: Tty,
}

impl Process {
    pub(super) fn is_default_shell(&self) -> bool {
        self.path == DEFAULT_SHELL
    }
}

impl From<Process> for HijackRequest {
    fn from(process: Process) -> Self {
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let pair = |entry: String| {
            let (name, value) = entry.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Self {
            path: process.path,
            args: process.args.unwrap_or_default(),
            env: process
                .env
                .unwrap_or_default()
                .into_iter()
                .filter_map(pair)
                .collect(),
            dir: given(process.dir),
            user: given(process.user),
            tty: process.tty.map(|terminal| terminal.window_size),
            scratch: false,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Input {
    #[serde(default)]
    closed: bool,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    tty: Option<Terminal>,
}

impl Input {
    /// Returns the input of the frame; none if the frame has none.
    pub(super) fn into_hijack(self) -> Option<HijackInput> {
        if self.closed {
            return Some(HijackInput::Close);
        }
        if let Some(terminal) = self.tty {
            return Some(HijackInput::Resize(terminal.window_size));
        }
        let bytes = STANDARD.decode(self.stdin.unwrap_or_default()).ok()?;
        Some(HijackInput::Bytes(bytes.into()))
    }
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    executable_not_found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
}

impl Output {
    pub(super) fn error(error: String) -> Self {
        Self {
            error,
            ..Self::default()
        }
    }

    fn exit(status: i32) -> Self {
        Self {
            exit_status: Some(status),
            ..Self::default()
        }
    }

    /// Returns an event's frames for `fly`. Where the default shell is not found `fly` looks for
    /// another by itself, and text about it would only confuse.
    pub(super) fn from_event(event: HijackEvent, default_shell: bool) -> Vec<Self> {
        match event {
            HijackEvent::Started => Vec::new(),
            HijackEvent::Output(Source::Stdout, data) => vec![Self {
                stdout: Some(STANDARD.encode(data)),
                ..Self::default()
            }],
            HijackEvent::Output(Source::Stderr, data) => vec![Self {
                stderr: Some(STANDARD.encode(data)),
                ..Self::default()
            }],
            HijackEvent::Exited(Exit::Code(code)) => vec![Self::exit(code)],
            HijackEvent::Exited(Exit::Signal(signal)) => vec![Self::exit(128 + signal)],
            HijackEvent::Exited(Exit::NotFound(words)) => {
                let not_found = Self {
                    executable_not_found: true,
                    ..Self::default()
                };
                if default_shell {
                    vec![not_found]
                } else {
                    vec![not_found, Self::error(words)]
                }
            }
            HijackEvent::Exited(Exit::Broken(words)) | HijackEvent::Lost(words) => {
                vec![Self::error(words)]
            }
            HijackEvent::Exited(Exit::Stopped | Exit::TakenAway | Exit::Fenced) => {
                vec![Self::error("the process was ended".to_owned())]
            }
        }
    }

    pub(super) fn frame(&self) -> Message {
        Message::Text(serde_json::to_string(self).unwrap_or_default().into())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_process_as_fly_asks_for_it() {
        let text = r#"{"path":"ls","args":null,"env":["TERM=xterm=1","odd"],"dir":"","user":"",
            "privileged":true,"tty":{"window_size":{"columns":80,"rows":24}}}"#;
        let process: Process = serde_json::from_str(text).unwrap();
        assert!(!process.is_default_shell());
        let request = HijackRequest::from(process);
        assert_eq!(request.env, [("TERM".to_owned(), "xterm=1".to_owned())]);
        assert_eq!((request.dir, request.user), (None, None));
        let size = Tty {
            columns: 80,
            rows: 24,
        };
        assert_eq!(request.tty, Some(size));
        for bad in ["", "[]", "{}", r#"{"path":1}"#, r#"{"path":"x","tty":{}}"#] {
            assert!(serde_json::from_str::<Process>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_typed() {
        let read = |text: &str| serde_json::from_str::<Input>(text).unwrap().into_hijack();
        assert_eq!(read(r#"{"closed":true}"#), Some(HijackInput::Close));
        let typed = HijackInput::Bytes(Bytes::from_static(b"hi\xff"));
        assert_eq!(read(r#"{"stdin":"aGn/"}"#), Some(typed));
        assert_eq!(read(r#"{"stdin":"not base64!"}"#), None);
        let resized = read(r#"{"tty":{"window_size":{"columns":1,"rows":2}}}"#);
        let size = Tty {
            columns: 1,
            rows: 2,
        };
        assert_eq!(resized, Some(HijackInput::Resize(size)));
    }

    #[test]
    fn what_is_answered() {
        let say = |event: HijackEvent, default_shell| {
            let outputs = Output::from_event(event, default_shell);
            serde_json::to_value(outputs).unwrap()
        };
        let output = |source| HijackEvent::Output(source, Bytes::from_static(b"a\0"));
        let exited = HijackEvent::Exited;
        for (event, expected) in [
            (HijackEvent::Started, json!([])),
            (output(Source::Stdout), json!([{"stdout": "YQA="}])),
            (output(Source::Stderr), json!([{"stderr": "YQA="}])),
            (exited(Exit::Code(0)), json!([{"exit_status": 0}])),
            (exited(Exit::Signal(9)), json!([{"exit_status": 137}])),
            (
                exited(Exit::Broken("why".into())),
                json!([{"error": "why"}]),
            ),
            (HijackEvent::Lost("cut".into()), json!([{"error": "cut"}])),
        ] {
            assert_eq!(say(event, false), expected);
        }
        let missing = || exited(Exit::NotFound("no".into()));
        assert_eq!(
            say(missing(), true),
            json!([{"executable_not_found": true}])
        );
        assert_eq!(
            say(missing(), false),
            json!([{"executable_not_found": true}, {"error": "no"}])
        );
    }
}
