//! Keeps secrets out of what a build prints.
//!
//! Output comes in pieces, and a secret may begin in one and end in the next: what could be the
//! beginning of a secret is held back until more has come. Nothing else is, so a prompt without a line
//! break is seen at once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

/// What stands in the place of a secret.
pub const REDACTED: &str = "((redacted))";

/// The secrets that a build has come to know; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    known: Arc<RwLock<Known>>,
}

#[derive(Debug)]
struct Known {
    lines: BTreeSet<Vec<u8>>,
    /// Whether a line begins with this byte: all but a few bytes of any output are passed over by it.
    begins: [bool; 256],
}

impl Default for Known {
    fn default() -> Self {
        Self {
            lines: BTreeSet::new(),
            begins: [false; 256],
        }
    }
}

impl Secrets {
    /// Adds every text in the value. As each line of a secret may be printed by itself, each counts
    /// by itself, without the spaces around it; a single character is no secret.
    pub fn add(&self, value: &Value) {
        let mut texts = Vec::new();
        collect_texts(value, &mut texts);
        let lines = texts.into_iter().flat_map(str::lines).map(str::trim);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for line in lines.filter(|line| line.len() > 1) {
            known.begins[usize::from(line.as_bytes()[0])] = true;
            known.lines.insert(line.as_bytes().to_vec());
        }
    }

    /// A text of which nothing more will come.
    pub fn redact(&self, text: &str) -> String {
        let (redacted, _) = self.cut(text.as_bytes(), End::Final);
        String::from_utf8_lossy(&redacted).into_owned()
    }

    /// The beginning of `bytes` without its secrets, and how many bytes that beginning has. With
    /// [`End::Open`], the rest may be the beginning of a secret: it belongs before what comes next.
    pub fn cut<'b>(&self, bytes: &'b [u8], end: End) -> (Cow<'b, [u8]>, usize) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut shown = Cow::Borrowed(&bytes[..0]);
        let (mut at, mut copied) = (0, 0);
        while let Some(clear) = known.clear(&bytes[at..]) {
            at += clear;
            match known.at(&bytes[at..], end) {
                Found::Nothing => at += 1,
                Found::Secret { length } => {
                    let shown = shown.to_mut();
                    shown.extend_from_slice(&bytes[copied..at]);
                    shown.extend_from_slice(REDACTED.as_bytes());
                    at += length;
                    copied = at;
                }
                Found::Beginning => return (joined(shown, &bytes[copied..at]), at),
            }
        }
        (joined(shown, &bytes[copied..]), bytes.len())
    }
}

fn joined<'b>(shown: Cow<'b, [u8]>, rest: &'b [u8]) -> Cow<'b, [u8]> {
    match shown {
        Cow::Borrowed(_) => Cow::Borrowed(rest),
        Cow::Owned(mut shown) => {
            shown.extend_from_slice(rest);
            Cow::Owned(shown)
        }
    }
}

enum Found {
    Nothing,
    Secret {
        length: usize,
    },
    /// What may become a secret, or a longer one.
    Beginning,
}

impl Known {
    /// How many bytes come before the next with which a secret may begin, if there is one.
    fn clear(&self, bytes: &[u8]) -> Option<usize> {
        if self.lines.is_empty() {
            return None;
        }
        bytes
            .iter()
            .position(|byte| self.begins[usize::from(*byte)])
    }

    /// What is at the beginning of `rest`, which is not empty.
    fn at(&self, rest: &[u8], end: End) -> Found {
        let mut longest = None;
        let alike = self
            .lines
            .range::<[u8], _>((Bound::Included(&rest[..1]), Bound::Unbounded))
            .take_while(|secret| secret[0] == rest[0]);
        for secret in alike {
            if rest.starts_with(secret) {
                longest = longest.max(Some(secret.len()));
            } else if end == End::Open && secret.starts_with(rest) {
                // The longest match wins, so one that may yet grow is waited for.
                return Found::Beginning;
            }
        }
        longest.map_or(Found::Nothing, |length| Found::Secret { length })
    }
}

/// Whether more of a text may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Open,
    Final,
}

/// The texts in a value, as Concourse tracks them: numbers, truths and what is in a list are none. They
/// would redact half of any log.
fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Object(map) => map.values().for_each(|value| collect_texts(value, texts)),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(value: Value) -> Secrets {
        let secrets = Secrets::default();
        secrets.add(&value);
        secrets
    }

    #[test]
    fn secrets_do_not_show() {
        for (secret, text, shown) in [
            (json!("hunter2"), "a hunter2 b", "a ((redacted)) b"),
            (json!("ab"), "xaabab", "xa((redacted))((redacted))"),
            (json!("ab\nabc"), "abc ab", "((redacted)) ((redacted))"),
            (json!({"k": {"n": "deep"}}), "deep k n", "((redacted)) k n"),
            (
                json!("one\n  two \nx\n"),
                "one two x",
                "((redacted)) ((redacted)) x",
            ),
            (json!("x"), "xx", "xx"),
            (json!({"n": 1234, "t": true}), "1234 true", "1234 true"),
            (json!(["dynamic1"]), "dynamic1", "dynamic1"),
            (json!("  "), "a  b", "a  b"),
            (json!("sécret"), "le sécret", "le ((redacted))"),
        ] {
            assert_eq!(secrets(secret.clone()).redact(text), shown, "{secret}");
        }
    }

    #[test]
    fn only_what_may_be_a_secret_is_held_back() {
        let secrets = secrets(json!("hunter2\nhunt"));
        for (text, shown, taken) in [
            ("Password: ", "Password: ", 10),
            ("is h", "is ", 3),
            ("is hunt", "is ", 3),
            ("hunts", "((redacted))s", 5),
            ("hunter2", "((redacted))", 7),
            ("hunter2hun", "((redacted))", 7),
        ] {
            let cut = secrets.cut(text.as_bytes(), End::Open);
            assert_eq!(cut, (shown.as_bytes().into(), taken), "{text}");
        }
    }
}
