//! Waits until each object of a put is done, and says what it waits for.

use std::{
    io::Write,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    time::{Duration, Instant},
};

use airside_object_status::{ObjectVerdict, StatusRules, judge};
use serde_json::Value;

use super::{
    access::ClusterAccess,
    apply::{AppliedObject, by_name},
    follow::{Follower, LogKey},
    kinds::ObjectAddress,
    names::text,
    watch::{OBJECT_SECONDS, Watch, WatchEvent},
};
use crate::{Failure, log::say};

/// Events that wait to be handled: a log that is faster than its reader is slowed down.
const QUEUED_EVENTS: usize = 256;
/// Objects that are watched at once; the others follow as these are done.
const MAX_WATCHES: usize = 16;
/// Time without a status after which the log asks for the controller.
const UNREPORTED: Duration = Duration::from_secs(60);
/// Lines about one object: what changes for ever is not told for ever.
const MAX_LINES: u32 = 200;

/// An event that a put handles while it waits.
pub(super) enum WaitEvent {
    Object {
        /// Path of the object: a put waits in several rounds, and a watch outlives its own.
        path: String,
        event: WatchEvent,
    },
    Pod(WatchEvent),
    Warning(WatchEvent),
    LogLine(String),
    LogEnd {
        key: LogKey,
        status: Option<u16>,
    },
    /// The objects of this put were deleted, as these lines say.
    Aborted(Vec<String>),
}

/// Makes the channel that all threads of a put report to.
pub(super) fn channel() -> (SyncSender<WaitEvent>, Receiver<WaitEvent>) {
    sync_channel(QUEUED_EVENTS)
}

/// An object that a put waits for.
pub(super) struct AwaitedObject {
    pub(super) address: ObjectAddress,
    pub(super) object: Value,
    rules: StatusRules,
    pub(super) verdict: ObjectVerdict,
    /// Verdict of the last line about it.
    said: Option<ObjectVerdict>,
    lines: u32,
    is_watched: bool,
    /// Trouble with its watch that was said, and is not over.
    trouble: Option<String>,
    is_unreported_said: bool,
}

impl AwaitedObject {
    pub(super) fn new(applied: AppliedObject, mut rules: StatusRules) -> Self {
        let AppliedObject {
            address, object, ..
        } = applied;
        rules.has_status = address.resource.has_status;
        rules.uid = Some(text(&object, "/metadata/uid").to_owned());
        Self {
            verdict: judge(&object, &rules),
            address,
            object,
            rules,
            said: None,
            lines: 0,
            is_watched: false,
            trouble: None,
            is_unreported_said: false,
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.verdict, ObjectVerdict::Done { .. })
    }

    /// Judges the object as it is now.
    fn see(&mut self, object: Value, log: &mut dyn Write) {
        self.verdict = judge(&object, &self.rules);
        self.object = object;
        self.trouble = None;
        self.tell(log);
    }

    fn tell(&mut self, log: &mut dyn Write) {
        if self.said.as_ref() == Some(&self.verdict) || self.lines == MAX_LINES {
            return;
        }
        self.lines += 1;
        say(log, &format!("{}: {}", self.address, self.verdict));
        self.said = Some(self.verdict.clone());
    }

    /// Says once that the watch is interrupted, until it works again.
    fn trouble(&mut self, why: String, log: &mut dyn Write) {
        if self.trouble.is_none() && self.lines < MAX_LINES {
            self.lines += 1;
            say(
                log,
                &format!(
                    "{}: {why}; watching again until the put's timeout",
                    self.address
                ),
            );
        }
        self.trouble = Some(why);
    }

    fn words(&self) -> String {
        match &self.trouble {
            Some(why) => format!(
                "{}; and the API server cannot be asked: {why}",
                self.verdict
            ),
            None => self.verdict.to_string(),
        }
    }
}

/// Waits for objects until a moment.
pub(super) struct Waiter<'a> {
    pub(super) access: &'a ClusterAccess,
    pub(super) sender: &'a SyncSender<WaitEvent>,
    pub(super) receiver: &'a Receiver<WaitEvent>,
    pub(super) begun: Instant,
    pub(super) timeout: Duration,
}

impl Waiter<'_> {
    /// Waits until all are done. One that fails ends the wait.
    pub(super) fn wait(
        &self,
        objects: &mut [AwaitedObject],
        mut follower: Option<&mut Follower<'_>>,
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        let since = Instant::now();
        for object in objects.iter_mut() {
            object.tell(log);
        }
        let ended = self.until_done(objects, follower.as_deref_mut(), since, log);
        let failed = match ended {
            Ok(()) => None,
            Err(WaitEnd::Failed(words)) => Some(words),
            Err(WaitEnd::Broken(failure)) => return Err(failure),
        };
        let mut events = Vec::new();
        if let Some(follower) = follower {
            follower.finish(self.receiver, log)?;
            events = follower.recent_warnings();
        }
        match failed {
            None => Ok(()),
            Some(mut words) => {
                for event in events {
                    words += &format!("\n  {event}");
                }
                Err(Failure::said(words))
            }
        }
    }

    fn until_done(
        &self,
        objects: &mut [AwaitedObject],
        mut follower: Option<&mut Follower<'_>>,
        since: Instant,
        log: &mut dyn Write,
    ) -> Result<(), WaitEnd> {
        loop {
            if let Some(failed) = objects.iter().find(|object| is_failed(&object.verdict)) {
                let words = format!("{} has {}", failed.address, failed.verdict);
                return Err(WaitEnd::Failed(words));
            }
            let Some(first) = objects.iter().find(|object| !object.is_done()) else {
                return Ok(());
            };
            let left = airside_model::deadline_after(self.begun, self.timeout)
                .saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.timed_out(first));
            }
            self.start_watches(objects)?;
            let pause = tell_unreported(objects, since, log).map_or(left, |pause| pause.min(left));
            match self.receiver.recv_timeout(pause) {
                Ok(WaitEvent::Object { path, event }) => {
                    // Two documents may be the same object.
                    let same = objects.iter_mut();
                    for object in same.filter(|object| object.address.path() == path) {
                        handle(object, event.clone(), log);
                    }
                }
                Ok(WaitEvent::Aborted(lines)) => {
                    return Err(WaitEnd::Broken(Failure::said(lines.join("\n"))));
                }
                Ok(event) => {
                    if let Some(follower) = follower.as_deref_mut() {
                        follower.handle(event, log)?;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn timed_out(&self, object: &AwaitedObject) -> WaitEnd {
        WaitEnd::Failed(format!(
            "{} is not done after {} seconds: {}",
            object.address,
            self.timeout.as_secs(),
            object.words()
        ))
    }

    fn start_watches(&self, objects: &mut [AwaitedObject]) -> Result<(), Failure> {
        let is_watched = |object: &&AwaitedObject| object.is_watched && !object.is_done();
        let mut watched = objects.iter().filter(is_watched).count();
        for object in objects.iter_mut() {
            if object.is_watched || object.is_done() || watched == MAX_WATCHES {
                continue;
            }
            watched += 1;
            object.is_watched = true;
            let (address, sender) = (&object.address, self.sender.clone());
            let path = address.path();
            let watch = Watch {
                collection: address.resource.collection(&address.namespace),
                query: by_name(&address.name),
                object: Some(path.clone()),
                from: Some(text(&object.object, "/metadata/resourceVersion").to_owned())
                    .filter(|version| !version.is_empty()),
                seconds: OBJECT_SECONDS,
            };
            watch.start(self.access, move |event| {
                let path = path.clone();
                sender.send(WaitEvent::Object { path, event }).is_ok()
            })?;
        }
        Ok(())
    }
}

/// The cause of a wait's end before all objects were done.
enum WaitEnd {
    /// An object failed, or was not done in time.
    Failed(String),
    Broken(Failure),
}

impl From<Failure> for WaitEnd {
    fn from(failure: Failure) -> Self {
        Self::Broken(failure)
    }
}

fn is_failed(verdict: &ObjectVerdict) -> bool {
    matches!(verdict, ObjectVerdict::Failed { .. })
}

fn handle(object: &mut AwaitedObject, event: WatchEvent, log: &mut dyn Write) {
    // Changes after the end of an object are another put's.
    if object.verdict.is_final() {
        return;
    }
    match event {
        WatchEvent::Seen(seen) => object.see(seen, log),
        WatchEvent::Gone => {
            object.verdict = ObjectVerdict::Failed {
                reason: "Deleted".to_owned(),
                message: "another client has deleted it".to_owned(),
            };
        }
        WatchEvent::Trouble { why, .. } => object.trouble(why, log),
    }
}

/// Says for which objects no controller has written a status for a minute; returns the time until
/// the next such line.
fn tell_unreported(
    objects: &mut [AwaitedObject],
    since: Instant,
    log: &mut dyn Write,
) -> Option<Duration> {
    let is_silent = |object: &&mut AwaitedObject| {
        object.verdict == ObjectVerdict::Unreported && !object.is_unreported_said
    };
    let left = UNREPORTED.saturating_sub(since.elapsed());
    let mut silent = objects.iter_mut().filter(is_silent).peekable();
    silent.peek()?;
    if !left.is_zero() {
        return Some(left);
    }
    for object in silent {
        object.is_unreported_said = true;
        let address = &object.address;
        say(
            log,
            &format!("no controller reports on {address}; is its controller running?"),
        );
    }
    None
}
