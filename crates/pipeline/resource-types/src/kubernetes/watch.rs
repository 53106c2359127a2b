//! Watches objects line by line, in a thread, without end: a watch that is cut, expired or refused
//! begins again.

use std::{
    io::{BufRead, BufReader, Read},
    thread,
    time::{Duration, Instant},
};

use airside_blocking_http::ResponseBody;
use airside_model::chain;
use serde_json::Value;

use super::{
    access::ClusterAccess,
    api::{ApiCall, ApiClient, ApiError},
    names::text,
};
use crate::Failure;

/// Longest line that is read: an object has at most 3 MiB.
const MAX_LINE: u64 = 8 << 20;
/// Seconds after which the API server ends the watch of an object.
pub(super) const OBJECT_SECONDS: u64 = 45;
/// Seconds after which the API server ends the watch of pods and events.
pub(super) const FOLLOWED_SECONDS: u64 = 290;
/// Time that a watch may be silent beyond its own end.
const GRACE: Duration = Duration::from_secs(20);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A report of a watch.
#[derive(Clone, Debug)]
pub(super) enum WatchEvent {
    /// An object as it is now.
    Seen(Value),
    /// The object is no longer there.
    Gone,
    /// The watch is interrupted, and begins again.
    Trouble { status: Option<u16>, why: String },
}

/// A selection of objects to watch.
pub(super) struct Watch {
    /// Path of the collection, without a query.
    pub(super) collection: String,
    /// Selectors of the query.
    pub(super) query: String,
    /// Path of the one object, if it is one: it is read again when a watch has missed something.
    pub(super) object: Option<String>,
    /// The version of the collection from which on changes are told.
    pub(super) from: Option<String>,
    pub(super) seconds: u64,
}

impl Watch {
    /// Starts the thread. It ends once `tell` returns false.
    pub(super) fn start(
        self,
        access: &ClusterAccess,
        tell: impl FnMut(WatchEvent) -> bool + Send + 'static,
    ) -> Result<(), Failure> {
        let silence = Duration::from_secs(self.seconds) + GRACE;
        let client = ApiClient::for_streams(access, silence)?;
        let thread = thread::Builder::new().name("watch".to_owned());
        let watching = WatchThread {
            watch: self,
            client,
            tell,
        };
        let started = thread.spawn(move || watching.run());
        started.map(drop).map_err(|error| {
            Failure::said(format!(
                "cannot start a thread for a watch: {}",
                chain(&error)
            ))
        })
    }
}

struct WatchThread<F> {
    watch: Watch,
    client: ApiClient,
    tell: F,
}

/// The end of one connection of a watch.
enum WatchEnd {
    /// It ended as announced, or was cut: changes go on from the last version.
    GoOn { had_lines: bool },
    /// The API server does not remember the version.
    Expired,
    /// The receiver has ended.
    Over,
}

impl<F: FnMut(WatchEvent) -> bool> WatchThread<F> {
    fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let end = match self.once() {
                Ok(end) => end,
                Err(ApiError::Refused(refusal)) if refusal.status == 410 => WatchEnd::Expired,
                Err(error) => {
                    let (status, why) = (error.status(), chain(&error));
                    if !(self.tell)(WatchEvent::Trouble { status, why }) {
                        return;
                    }
                    WatchEnd::GoOn { had_lines: false }
                }
            };
            match end {
                WatchEnd::Over => return,
                WatchEnd::GoOn { had_lines: true } => pause = FIRST_PAUSE,
                WatchEnd::Expired => self.watch.from = None,
                WatchEnd::GoOn { .. } => {}
            }
            thread::sleep(pause);
            if !matches!(end, WatchEnd::GoOn { had_lines: true }) {
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Makes one connection and reads it to its end.
    fn once(&mut self) -> Result<WatchEnd, ApiError> {
        if let (Some(object), None) = (&self.watch.object, &self.watch.from) {
            let seen = match self.client.call(object, ApiCall::Get) {
                Ok(object) => object,
                Err(ApiError::Refused(refusal)) if refusal.is_missing_object() => {
                    (self.tell)(WatchEvent::Gone);
                    return Ok(WatchEnd::Over);
                }
                Err(error) => return Err(error),
            };
            self.watch.from = Some(text(&seen, "/metadata/resourceVersion").to_owned());
            if !(self.tell)(WatchEvent::Seen(seen)) {
                return Ok(WatchEnd::Over);
            }
        }
        let path = self.path();
        let mut lines = self.client.open(&path)?;
        let (begun, mut had_lines) = (Instant::now(), false);
        while let Some(event) = next_line(&mut lines) {
            had_lines = true;
            if let Some(end) = self.event(event) {
                return Ok(end);
            }
        }
        // One without a change ends as announced; one that ends at once is a server in trouble.
        let had_lines = had_lines || begun.elapsed() > LONGEST_PAUSE;
        Ok(WatchEnd::GoOn { had_lines })
    }

    fn path(&self) -> String {
        let Watch {
            collection,
            query,
            from,
            seconds,
            ..
        } = &self.watch;
        let from = from
            .as_ref()
            .map(|version| format!("&resourceVersion={version}"));
        let from = from.unwrap_or_default();
        let and = if query.is_empty() { "" } else { "&" };
        format!(
            "{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}{from}{and}{query}"
        )
    }

    /// Takes one event; returns how the connection ends, if it does.
    fn event(&mut self, mut event: Value) -> Option<WatchEnd> {
        let type_ = text(&event, "/type").to_owned();
        let object = event.get_mut("object").map(Value::take).unwrap_or_default();
        if type_ == "ERROR" {
            return Some(WatchEnd::Expired);
        }
        let version = text(&object, "/metadata/resourceVersion");
        if !version.is_empty() {
            self.watch.from = Some(version.to_owned());
        }
        let told = match type_.as_str() {
            "ADDED" | "MODIFIED" => WatchEvent::Seen(object),
            "DELETED" if self.watch.object.is_some() => WatchEvent::Gone,
            _ => return None,
        };
        let is_over = matches!(told, WatchEvent::Gone);
        (!(self.tell)(told) || is_over).then_some(WatchEnd::Over)
    }
}

/// Reads one event; none at the end, after a cut, or where a line is no event.
fn next_line(lines: &mut BufReader<ResponseBody>) -> Option<Value> {
    let mut line = Vec::new();
    let read = lines.take(MAX_LINE).read_until(b'\n', &mut line);
    let read = read.ok()?;
    if read == 0 {
        return None;
    }
    serde_json::from_slice(&line).ok()
}
