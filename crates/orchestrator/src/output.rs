//! A step's bytes on their way into the log: whole characters, no secrets, and nothing acknowledged
//! too early.

use airside_hub::Session;
use airside_logs::LogWriter;
use airside_model::{
    PlanId,
    event::{Event, Origin, Source},
};
use airside_protocol::Output;
use airside_store::now;
use airside_vars::{End, Secrets};

use crate::Result;

/// More than this is no answer a resource would give.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// The most that one event shows.
const EVENT_BYTES: usize = 64 * 1024;

pub(crate) struct OutputLog<'a> {
    log: &'a LogWriter,
    plan: &'a PlanId,
    secrets: &'a Secrets,
    /// Standard output is collected here instead of logged.
    answer: Option<Vec<u8>>,
    /// The beginning of a character or of a secret, whose end has not come yet.
    held: Vec<u8>,
    held_source: Source,
    offset: u64,
    /// Nothing is acknowledged while an answer is collected: it is nowhere but here and in the shim.
    acknowledge: bool,
}

impl<'a> OutputLog<'a> {
    pub(crate) fn new(
        log: &'a LogWriter,
        plan: &'a PlanId,
        secrets: &'a Secrets,
        answers: bool,
    ) -> Self {
        Self {
            log,
            plan,
            secrets,
            answer: answers.then(Vec::new),
            held: Vec::new(),
            held_source: Source::Stdout,
            offset: 0,
            acknowledge: !answers,
        }
    }

    /// From where the shim must send (again).
    pub(crate) fn resume_from(log: &LogWriter, plan: &PlanId, answers: bool) -> u64 {
        if answers {
            0
        } else {
            log.position(plan.as_str())
        }
    }

    pub(crate) async fn take(&mut self, output: Output, session: &Session) -> Result<()> {
        let end = output.offset + output.data.len() as u64;
        self.offset = end;
        if let (Some(answer), Source::Stdout) = (&mut self.answer, output.source) {
            let room = MAX_ANSWER.saturating_sub(answer.len());
            answer.extend_from_slice(&output.data[..output.data.len().min(room)]);
            return Ok(());
        }
        if output.source != self.held_source {
            self.flush_held().await?;
        }
        self.held_source = output.source;
        // After a resume, output that was logged comes again with the answer.
        let logged = self
            .log
            .position(self.plan.as_str())
            .saturating_sub(output.offset);
        let fresh = output.data.get(logged as usize..).unwrap_or_default();
        let mut events = Vec::with_capacity(fresh.len().div_ceil(EVENT_BYTES));
        let mut position = end - fresh.len() as u64;
        for (number, piece) in fresh.chunks(EVENT_BYTES).enumerate() {
            if number > 0 {
                // Other tasks get their turn between the pieces of a large frame.
                tokio::task::yield_now().await;
            }
            position += piece.len() as u64;
            events.extend(self.event_of(piece, position).await);
        }
        self.log.append_all(self.plan.as_str(), events).await?;
        if self.acknowledge {
            session.acknowledge(end - self.held.len() as u64);
        }
        Ok(())
    }

    /// The event of what was held and a piece that ends at `position`, with how far it reaches.
    async fn event_of(&mut self, piece: &[u8], position: u64) -> Option<(u64, Event)> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let (text, held) = if self.secrets.are_few() {
            shown_and_held(self.secrets, bytes)
        } else {
            let secrets = self.secrets.clone();
            let cut = tokio::task::spawn_blocking(move || shown_and_held(&secrets, bytes));
            cut.await.expect("redaction does not panic")
        };
        self.held = held;
        let reached = position - self.held.len() as u64;
        (!text.is_empty()).then(|| (reached, self.event(&text)))
    }

    /// The end of the output; what was held back goes out as it is. Gives the answer.
    pub(crate) async fn finish(mut self) -> Result<Vec<u8>> {
        self.flush_held().await?;
        Ok(self.answer.unwrap_or_default())
    }

    async fn flush_held(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        let (text, _) = self.secrets.cut(&held, End::Final);
        if text.is_empty() {
            return Ok(());
        }
        let event = self.event(&text);
        let key = self.plan.as_str();
        Ok(self.log.append(key, self.offset, event).await?)
    }

    fn event(&self, text: &[u8]) -> Event {
        Event::Log {
            time: now().seconds(),
            origin: Origin {
                id: self.plan.clone(),
                source: Some(self.held_source),
            },
            payload: String::from_utf8_lossy(text).into_owned(),
        }
    }
}

/// Splits output into what may be shown, without secrets, and the beginning of a character or of a secret.
fn shown_and_held(secrets: &Secrets, mut bytes: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let (text, taken) = secrets.cut(&bytes[..whole_characters(&bytes)], End::Open);
    let text = text.into_owned();
    bytes.drain(..taken);
    (text, bytes)
}

/// The length without an unfinished character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for start in (tail..bytes.len()).rev() {
        let width = match bytes[start] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            0x80..=0xbf => continue,
            _ => return bytes.len(),
        };
        return if start + width > bytes.len() {
            start
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::whole_characters;

    #[test]
    fn only_unfinished_characters_are_held_back() {
        for (bytes, whole) in [
            (&b""[..], 0),
            (b"abc", 3),
            ("aé".as_bytes(), 3),
            (&"aé".as_bytes()[..2], 1),
            ("€".as_bytes(), 3),
            (&"€".as_bytes()[..2], 0),
            (&"x𝄞".as_bytes()[..4], 1),
            ("x𝄞".as_bytes(), 5),
            (b"\x80\x80\x80\x80", 4),
            (b"\xff", 1),
        ] {
            assert_eq!(whole_characters(bytes), whole, "{bytes:?}");
        }
    }
}
