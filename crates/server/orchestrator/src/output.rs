//! A step's bytes on their way into the log: whole characters, no secrets, and nothing acknowledged
//! too early.

mod answer;
mod bounds;

use airside_hub::Session;
use airside_logs::LogWriter;
use airside_model::{
    Handle, PlanId,
    event::{Event, Origin, Source},
};
use airside_protocol::Output;
use airside_store::now;
use airside_vars::{End, Secrets};

use crate::{Result, placing::StepContext};

use self::answer::ResourceAnswer;

pub use bounds::OutputBounds;

pub(crate) use {answer::MAX_ANSWER, bounds::LogQuota};

/// The most that one event shows.
const EVENT_BYTES: usize = 64 * 1024;

pub(crate) struct OutputLog<'a> {
    log: &'a LogWriter,
    plan: &'a PlanId,
    secrets: &'a Secrets,
    keys: Keys,
    bounds: OutputBounds,
    quota: Option<LogQuota>,
    /// A bound was met, and the log says so: what comes is dropped.
    over: bool,
    /// Standard output is collected here instead of logged.
    answer: Option<ResourceAnswer>,
    /// The beginning of a character or of a secret, whose end has not come yet.
    held: Vec<u8>,
    held_source: Source,
    offset: u64,
}

/// The keys of the build's log under which a step's output stands. A step with an answer may be
/// placed more than once, and each placement prints anew.
struct Keys {
    /// Output of a step without an answer; earlier versions had all of a step's here.
    output: String,
    /// Output before the answer began, which the shim has forgotten.
    before_answer: String,
    /// Output from the first byte of the answer on.
    beside_answer: String,
    over: String,
    no_answer: String,
}

impl Keys {
    fn of(plan: &PlanId, handle: &Handle) -> Self {
        Self {
            output: plan.as_str().to_owned(),
            before_answer: format!("{plan}/before-answer/{handle}"),
            beside_answer: format!("{plan}/beside-answer/{handle}"),
            over: format!("{plan}/output-bound"),
            no_answer: format!("{plan}/answer-bound/{handle}"),
        }
    }
}

impl<'a> OutputLog<'a> {
    pub(crate) fn new(context: &StepContext<'a>, handle: &Handle, bounds: OutputBounds) -> Self {
        let keys = Keys::of(&context.request.plan, handle);
        let too_large = context.log.position(&keys.no_answer) > 0;
        let answers = context.request.answers;
        Self {
            log: context.log,
            plan: &context.request.plan,
            secrets: context.secrets,
            over: context.log.position(&keys.over) > 0,
            keys,
            bounds,
            quota: context.log_quota.clone(),
            answer: answers.then(|| ResourceAnswer::resumed(too_large)),
            held: Vec::new(),
            held_source: Source::Stdout,
            offset: 0,
        }
    }

    /// Returns the offset from which the shim must send (again).
    pub(crate) fn resume_from(&self) -> u64 {
        match &self.answer {
            Some(_) => self.log.position(&self.keys.before_answer),
            None => self.log.position(&self.keys.output),
        }
    }

    /// Returns true if what is missing of the output is not missed.
    pub(crate) fn is_over(&self) -> bool {
        self.over || self.no_answer().is_some()
    }

    /// Returns the reason why there is no answer, though the step may have succeeded.
    pub(crate) fn no_answer(&self) -> Option<String> {
        self.answer.as_ref().and_then(ResourceAnswer::words)
    }

    pub(crate) async fn take(&mut self, output: Output, session: &Session) -> Result<()> {
        let end = output.offset + output.data.len() as u64;
        match (&mut self.answer, output.source) {
            (Some(answer), Source::Stdout) => answer.take(output.offset, &output.data),
            _ => self.write(&output, end).await?,
        }
        self.offset = end;
        if let Some(answer) = &mut self.answer {
            answer.printed_until(end);
        }
        self.note_lost_answer().await?;
        if !self.answer.as_ref().is_some_and(ResourceAnswer::has_begun) {
            session.acknowledge(end - self.held.len() as u64);
        }
        Ok(())
    }

    /// Puts output that is not an answer into the log, as far as there is room.
    async fn write(&mut self, output: &Output, end: u64) -> Result<()> {
        if output.source != self.held_source {
            self.flush_held().await?;
        }
        self.held_source = output.source;
        // After a resume, output that was logged comes again with the answer.
        let logged = self.logged().saturating_sub(output.offset);
        let fresh = output.data.get(logged as usize..).unwrap_or_default();
        let (fresh, over) = self.bounded(fresh, end - fresh.len() as u64);
        let mut events = Vec::with_capacity(fresh.len().div_ceil(EVENT_BYTES));
        let mut position = output.offset + logged.min(output.data.len() as u64);
        for (number, piece) in fresh.chunks(EVENT_BYTES).enumerate() {
            if number > 0 {
                // Other tasks get their turn between the pieces of a large frame.
                tokio::task::yield_now().await;
            }
            position += piece.len() as u64;
            events.extend(self.event_of(piece, position).await?);
        }
        self.log.append_all(self.key(), events).await?;
        match over {
            Some(line) => self.drop_the_rest(&line).await,
            None => Ok(()),
        }
    }

    /// Returns the offset up to which the log has this step's output.
    fn logged(&self) -> u64 {
        let Keys {
            output,
            before_answer,
            beside_answer,
            ..
        } = &self.keys;
        let keys = [output, before_answer, beside_answer];
        let positions = keys.map(|key| self.log.position(key));
        positions.into_iter().max().unwrap_or(0)
    }

    fn key(&self) -> &str {
        match &self.answer {
            Some(answer) if answer.has_begun() => &self.keys.beside_answer,
            Some(_) => &self.keys.before_answer,
            None => &self.keys.output,
        }
    }

    /// The part of fresh output that has room, and the line for when that is not all of it.
    fn bounded<'b>(&self, fresh: &'b [u8], position: u64) -> (&'b [u8], Option<String>) {
        if self.over {
            return (&[], None);
        }
        let quota = self.quota.as_ref();
        match bounds::room(&self.bounds, quota, self.log, position, fresh.len()) {
            Ok(()) => (fresh, None),
            Err((room, line)) => (&fresh[..room], Some(line)),
        }
    }

    /// Says once that a bound was met. What was held back may be the beginning of a secret: it
    /// goes, too.
    async fn drop_the_rest(&mut self, line: &str) -> Result<()> {
        self.over = true;
        self.held.clear();
        let event = self.event_from(Source::Stderr, line.as_bytes());
        Ok(self.log.append(&self.keys.over, 1, event).await?)
    }

    /// Notes that the answer was given up. It stays so for the next driver of the step: its bytes
    /// are gone.
    async fn note_lost_answer(&self) -> Result<()> {
        if let Some(words) = self.no_answer()
            && self.log.position(&self.keys.no_answer) == 0
        {
            let event = self.event_from(Source::Stderr, format!("{words}\n").as_bytes());
            self.log.append(&self.keys.no_answer, 1, event).await?;
        }
        Ok(())
    }

    /// The event of what was held and a piece that ends at `position`, with how far it reaches.
    async fn event_of(&mut self, piece: &[u8], position: u64) -> Result<Option<(u64, Event)>> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let (text, held) = if self.secrets.are_few() {
            shown_and_held(self.secrets, bytes)
        } else {
            let secrets = self.secrets.clone();
            airside_tasks::blocking("redaction", move || shown_and_held(&secrets, bytes)).await?
        };
        self.held = held;
        let reached = position - self.held.len() as u64;
        Ok((!text.is_empty()).then(|| (reached, self.event(&text))))
    }

    /// The end of the output; what was held back goes out as it is. Gives the answer.
    pub(crate) async fn finish(mut self) -> Result<Vec<u8>> {
        self.flush_held().await?;
        Ok(self.answer.map(ResourceAnswer::bytes).unwrap_or_default())
    }

    async fn flush_held(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        let (text, _) = self.secrets.cut(&held, End::Final);
        if text.is_empty() {
            return Ok(());
        }
        let event = self.event(&text);
        Ok(self.log.append(self.key(), self.offset, event).await?)
    }

    fn event(&self, text: &[u8]) -> Event {
        self.event_from(self.held_source, text)
    }

    fn event_from(&self, source: Source, text: &[u8]) -> Event {
        Event::Log {
            time: now().seconds(),
            origin: Origin {
                id: self.plan.clone(),
                source: Some(source),
            },
            payload: String::from_utf8_lossy(text).into_owned(),
        }
    }
}

/// Splits output into what may be shown, without secrets, and the beginning of a character or of a
/// secret.
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
