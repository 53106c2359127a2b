//! The outcome of a judgement.

use serde_json::Value;

/// Longest text of an object that a verdict repeats, in characters.
const MAX_TEXT_CHARS: usize = 1000;

/// The state of an object, as far as its controller has reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectVerdict {
    /// The controller has done all that the object asks for.
    Done {
        /// One word for the result, such as the condition that says so.
        reason: String,
    },
    /// The object will not become what it asks for without a change.
    Failed { reason: String, message: String },
    /// The controller is at work, or waits for something.
    GoingOn {
        /// The sentence that a person who waits is shown.
        reason: String,
    },
    /// The object should get a status, and no controller has written one yet.
    Unreported,
}

impl ObjectVerdict {
    pub(crate) fn done(reason: &str) -> Self {
        let reason = printable(reason);
        Self::Done { reason }
    }

    pub(crate) fn failed(reason: &str, message: &str) -> Self {
        Self::Failed {
            reason: printable(reason),
            message: printable(message),
        }
    }

    pub(crate) fn going_on(reason: &str) -> Self {
        let reason = printable(reason);
        Self::GoingOn { reason }
    }

    /// Returns true if the judgement will not change by waiting.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Failed { .. })
    }
}

impl std::fmt::Display for ObjectVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done { reason } => write!(f, "done: {reason}"),
            Self::Failed { reason, message } if message.is_empty() => {
                write!(f, "failed: {reason}")
            }
            Self::Failed { reason, message } => write!(f, "failed: {reason}: {message}"),
            Self::GoingOn { reason } => f.write_str(reason),
            Self::Unreported => f.write_str("no controller has reported a status yet"),
        }
    }
}

/// Returns a text of the cluster as it can be shown: on one line, without control characters, and
/// of at most 1,000 characters.
pub fn printable(text: &str) -> String {
    let cut = text.trim().chars().take(MAX_TEXT_CHARS);
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    cut.map(shown).collect()
}

/// Returns the text of a field, or an empty one.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// Returns the whole number of a field, if it has one.
pub(crate) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer)?.as_i64()
}
