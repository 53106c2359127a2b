//! Keeps secrets out of what a build prints.
//!
//! Output comes in pieces, and a secret may begin in one and end in the next: what could be the
//! beginning of a secret is held back until more has come. Nothing else is, so a prompt without a
//! line break is seen at once.

mod known;
mod lines;
mod trie;

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use serde_json::Value;

use known::KnownSecrets;
pub use lines::TooMuch;

/// Text that replaces a secret.
pub const REDACTED: &str = "((redacted))";

/// Bytes of secrets below which adding one more and looking for all of them in a piece of output is
/// quick enough for a thread that others wait for.
const FEW: usize = 64 * 1024;

/// The secrets that a build has come to know; clones share them.
///
/// The time it takes to find them in a text grows with the text and not with the secrets, whatever
/// they are.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Arc<KnownSecrets>>>,
    /// Lock that is held while something is added, so that nothing gets lost and output goes on
    /// meanwhile.
    adding: Arc<Mutex<()>>,
}

impl fmt::Debug for Secrets {
    /// Shows nothing of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Adds every text in the value. As each line of a secret may be printed by itself, each counts
    /// by itself, without the spaces around it; a single character is not a secret. If the value,
    /// or all values together, are too large, nothing is added: the value must not get into the
    /// build.
    pub fn add(&self, value: &Value) -> Result<(), TooMuch> {
        let lines = lines::of(value)?;
        let _turn = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known().with(lines)? {
            let mut place = self.known.write().unwrap_or_else(PoisonError::into_inner);
            *place = Arc::new(known);
        }
        Ok(())
    }

    /// Returns true if adding the value is quick enough for any thread.
    pub fn is_quick_to_add(&self, value: &Value) -> bool {
        lines::text_bytes(value) + self.known().bytes() <= FEW
    }

    /// Returns true if there are so few secrets that any thread may look for them in a piece of
    /// output.
    pub fn are_few(&self) -> bool {
        self.known().bytes() <= FEW
    }

    fn known(&self) -> Arc<KnownSecrets> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&known)
    }

    /// A text of which nothing more will come.
    pub fn redact(&self, text: &str) -> String {
        let (redacted, _) = self.cut(text.as_bytes(), End::Final);
        String::from_utf8_lossy(&redacted).into_owned()
    }

    /// The beginning of `bytes` without its secrets, and how many bytes that beginning has. With
    /// [`End::Open`], the rest may be the beginning of a secret: it belongs before what comes next.
    /// Of two secrets that begin at the same place the longer one counts, so one that may yet grow
    /// is waited for.
    pub fn cut<'b>(&self, bytes: &'b [u8], end: End) -> (Cow<'b, [u8]>, usize) {
        let known = self.known();
        if known.is_empty() {
            return (Cow::Borrowed(bytes), bytes.len());
        }
        let findings = known.find(bytes, end == End::Open);
        let mut open = findings.open.into_iter().peekable();
        let mut shown = Cow::Borrowed(&bytes[..0]);
        let (mut at, mut copied) = (0, 0);
        while at < bytes.len() {
            while open.next_if(|place| *place < at).is_some() {}
            if open.peek() == Some(&at) {
                return (joined(shown, &bytes[copied..at]), at);
            }
            match findings.lengths.get(at) {
                // Nothing is left to be found before the next open place.
                None => at = open.peek().copied().unwrap_or(bytes.len()),
                Some(0) => at += 1,
                Some(length) => {
                    let shown = shown.to_mut();
                    shown.extend_from_slice(&bytes[copied..at]);
                    shown.extend_from_slice(REDACTED.as_bytes());
                    at += usize::from(*length);
                    copied = at;
                }
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

/// True if more of a text may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Open,
    Final,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(value: Value) -> Secrets {
        let secrets = Secrets::default();
        secrets.add(&value).unwrap();
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
