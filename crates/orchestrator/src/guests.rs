//! Checks in containers that earlier ones left: a process beside the first one's, over the shim's connection.
//!
//! A container is offered under a name that says who may use it and what is in it; here nothing is known of either.
//! It stays as long as it is used. Which there are is known to this server alone: after a restart they go unused, and
//! are collected like others.

use std::{collections::HashMap, time::Duration};

use airside_hub::{Hijack, HijackEvent, HijackInput, HijackRequest};
use airside_model::{WorkerName, event::Source};
use airside_protocol::{Executable, Exit};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    Held, Orchestrator, StepRequest, output::MAX_ANSWER, request::Afterwards, subject::Subject,
};

/// What a check has to say beyond this is left out.
const MAX_OUTPUT: usize = 1 << 20;
/// So many checks at once in one container.
const AT_ONCE: usize = 8;
/// How often it is written down that a container is used.
const NOTE: Duration = Duration::from_secs(60);

/// Containers that checks may use, by what they are offered as.
#[derive(Default)]
pub(crate) struct Guests(Mutex<HashMap<String, Host>>);

struct Host {
    subject: Subject,
    running: usize,
    noted: Instant,
}

/// What a process came to.
#[derive(Clone, Debug)]
pub struct GuestRun {
    pub worker: WorkerName,
    pub end: GuestEnd,
    /// Standard output.
    pub answer: Vec<u8>,
    /// Standard error, up to a bound.
    pub output: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    Exited(i32),
    Errored(String),
    TimedOut,
}

impl Guests {
    fn enter(&self, name: &str) -> Option<(Subject, bool)> {
        let mut hosts = self.0.lock();
        let host = hosts.get_mut(name).filter(|host| host.running < AT_ONCE)?;
        host.running += 1;
        let is_due = host.noted.elapsed() >= NOTE;
        if is_due {
            host.noted = Instant::now();
        }
        Some((host.subject.clone(), is_due))
    }

    fn leave(&self, name: &str) {
        if let Some(host) = self.0.lock().get_mut(name) {
            host.running = host.running.saturating_sub(1);
        }
    }

    /// `false`: there is one of that name.
    fn offer(&self, name: &str, subject: Subject) -> bool {
        let mut hosts = self.0.lock();
        if hosts.contains_key(name) {
            return false;
        }
        let (running, noted) = (0, Instant::now());
        let host = Host {
            subject,
            running,
            noted,
        };
        hosts.insert(name.to_owned(), host);
        true
    }

    /// Nobody is to use this container any more.
    pub(crate) fn withdraw(&self, subject: &Subject) {
        let is_other = |_: &String, host: &mut Host| host.subject.handle != subject.handle;
        self.0.lock().retain(is_other);
    }
}

impl Orchestrator {
    /// Gives up what a check stood on, but offers its container to those after it, unless there is one. Only after
    /// its result is committed.
    pub async fn offer(&self, held: Held, name: &str) {
        let Held(Some(mut holding)) = held else {
            return;
        };
        let (subject, guests) = (holding.subject.clone(), &self.parts.guests);
        if holding.session.is_none() || !guests.offer(name, subject.clone()) {
            return self.discard(Held(Some(holding))).await;
        }
        holding.afterwards = Afterwards::Kept;
        match self.parts.store.note_checked_in(&subject.handle).await {
            Ok(()) => self.release(Held(Some(holding))).await,
            Err(error) => {
                guests.withdraw(&subject);
                subject.failed(&error, "the container is not kept for other checks");
                self.discard(Held(Some(holding))).await;
            }
        }
    }

    /// Runs a check in a container that was offered as this. None: there is none, or it does not answer, and nothing
    /// came of it.
    pub async fn run_as_guest(
        &self,
        name: &str,
        request: &StepRequest,
        allowed: Duration,
    ) -> Option<GuestRun> {
        let (subject, is_due) = self.parts.guests.enter(name)?;
        let place = Place {
            guests: &self.parts.guests,
            name,
        };
        if is_due && let Err(error) = self.parts.store.note_checked_in(&subject.handle).await {
            subject.failed(&error, "the container may go though it is used");
        }
        let Executable::Path(path) = &request.run else {
            return None;
        };
        let wanted = HijackRequest {
            path: path.clone(),
            args: request.args.clone(),
            env: request.env.clone(),
            dir: Some(request.dir.clone()),
            user: request.user.clone(),
            tty: None,
        };
        let run = async {
            let mut hijack = self.parts.hub.hijack(&subject.handle, wanted).await.ok()?;
            let stdin = request.stdin.clone().unwrap_or_default();
            let talk = converse(&mut hijack, Bytes::from(stdin));
            Some(match tokio::time::timeout(allowed, talk).await {
                Ok(ended) => ended?,
                Err(_) => (GuestEnd::TimedOut, Said::default()),
            })
        };
        let ran = run.await;
        drop(place);
        if ran.is_none() {
            subject.decided("a container that was kept for checks does not answer");
            self.parts.guests.withdraw(&subject);
        }
        let (end, said) = ran?;
        Some(GuestRun {
            worker: subject.worker.clone(),
            end,
            answer: said.answer,
            output: said.output,
        })
    }
}

/// One check's place in a container.
struct Place<'a> {
    guests: &'a Guests,
    name: &'a str,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.guests.leave(self.name);
    }
}

#[derive(Default)]
struct Said {
    answer: Vec<u8>,
    output: Vec<u8>,
}

/// Gives the process its input and hears it to its end. None: the connection was lost.
async fn converse(hijack: &mut Hijack, stdin: Bytes) -> Option<(GuestEnd, Said)> {
    let inputs = hijack.inputs.clone();
    // Beside: one that does not read its input may say something all the same.
    let feed = async move {
        let _ = inputs.send(HijackInput::Bytes(stdin)).await;
        let _ = inputs.send(HijackInput::Close).await;
        std::future::pending::<()>().await;
    };
    let hear = async {
        let mut said = Said::default();
        while let Some(event) = hijack.events.recv().await {
            match event {
                HijackEvent::Started => {}
                HijackEvent::Output(Source::Stdout, bytes) => {
                    if said.answer.len() + bytes.len() > MAX_ANSWER {
                        let words =
                            format!("the resource's answer is larger than {MAX_ANSWER} bytes");
                        return Some((GuestEnd::Errored(words), said));
                    }
                    said.answer.extend_from_slice(&bytes);
                }
                HijackEvent::Output(_, bytes) => {
                    let room = MAX_OUTPUT.saturating_sub(said.output.len());
                    said.output
                        .extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                HijackEvent::Exited(exit) => return Some((end(exit)?, said)),
                HijackEvent::Lost(_) => return None,
            }
        }
        None
    };
    tokio::select! {
        ended = hear => ended,
        () = feed => None,
    }
}

fn end(exit: Exit) -> Option<GuestEnd> {
    Some(match exit {
        Exit::Code(code) => GuestEnd::Exited(code),
        Exit::Signal(signal) => {
            GuestEnd::Errored(format!("the process was killed by signal {signal}"))
        }
        Exit::NotFound(words) | Exit::Broken(words) => GuestEnd::Errored(words),
        Exit::Stopped | Exit::TakenAway | Exit::Fenced => return None,
    })
}
