//! Checks as guests of a container that is there for them: a process beside the first one's, over the shim's
//! connection.
//!
//! A container is offered under a name that says who may use it and what is in it ([`hosts`]). It stays as long as it
//! is used. Which there are is known to this server alone: those of an earlier one are collected.

mod hosts;

use std::{sync::Arc, time::Duration};

use airside_hub::{Hijack, HijackError, HijackEvent, HijackInput, HijackRequest};
use airside_model::{WorkerName, event::Source};
use airside_protocol::{Executable, Exit, OWN_PROGRAM};
use airside_runtime::Observed;
use bytes::Bytes;

pub(crate) use hosts::Hosts;
pub use hosts::{Asker, Found, Host, Ticket};

use crate::{
    Held, Orchestrator, StepRequest, output::MAX_ANSWER, request::Afterwards, subject::Subject,
};

/// What a check has to say beyond this is left out.
const MAX_OUTPUT: usize = 1 << 20;

/// The process of a check. It sees this and nothing else of what the server knows.
#[derive(Clone)]
pub struct GuestRequest {
    pub run: Executable,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub user: Option<String>,
    pub stdin: String,
    /// Whether what it writes into `TMPDIR` goes with it.
    pub scratch: bool,
}

impl From<&StepRequest> for GuestRequest {
    fn from(request: &StepRequest) -> Self {
        Self {
            run: request.run.clone(),
            args: request.args.clone(),
            env: request.env.clone(),
            user: request.user.clone(),
            stdin: request.stdin.clone().unwrap_or_default(),
            scratch: false,
        }
    }
}

impl GuestRequest {
    fn hijack(&self) -> HijackRequest {
        HijackRequest {
            path: match &self.run {
                Executable::Shim => OWN_PROGRAM.to_owned(),
                Executable::Path(path) => path.clone(),
            },
            args: self.args.clone(),
            env: self.env.clone(),
            dir: Some("/".to_owned()),
            user: self.user.clone(),
            tty: None,
            scratch: self.scratch,
        }
    }
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

impl Orchestrator {
    /// The container that is offered under this name, or the turn to make one. Waits for one that somebody else is
    /// making. `anew`: what could not be made a moment ago is tried again.
    pub async fn host(&self, name: &str, asker: Asker, anew: bool) -> Found {
        self.parts.guests.find(name, asker, anew).await
    }

    /// The step of a container that is there for guests alone: it has nothing of theirs and ends at once.
    pub fn hosting(request: StepRequest) -> StepRequest {
        StepRequest {
            run: Executable::Shim,
            args: vec!["nothing".to_owned()],
            stdin: None,
            ..request
        }
    }

    /// Offers the container of such a step, which has ended, to those who wait for it and come after them. None: it
    /// was lost meanwhile. It is used for no longer than `lifetime`.
    pub async fn offer(
        &self,
        held: Held,
        ticket: Ticket,
        lifetime: Option<Duration>,
    ) -> Option<Arc<Host>> {
        let Held(Some(mut holding)) = held else {
            return None;
        };
        let subject = holding.subject.clone();
        if holding.session.is_none() {
            self.discard(Held(Some(holding))).await;
            return None;
        }
        // Known before it is kept, or the sweeper would take it for one of an earlier server.
        let host = ticket.offer(subject.clone(), lifetime);
        holding.afterwards = Afterwards::Kept;
        if let Err(error) = self.parts.store.note_checked_in(&subject.handle).await {
            self.parts.guests.withdraw(&subject.handle);
            subject.failed(&error, "the container is not kept for checks");
            self.discard(Held(Some(holding))).await;
            return None;
        }
        self.release(Held(Some(holding))).await;
        self.attend(subject);
        Some(host)
    }

    /// Takes the container's name away as soon as its runtime says that it is gone.
    fn attend(&self, subject: Subject) {
        let (orchestrator, mut seen) = (self.clone(), self.parts.workers.watch(&subject.handle));
        airside_tasks::spawn("guests of a container", async move {
            let is_gone = |seen: &Option<Observed>| {
                matches!(seen, Some(Observed::Leaving { .. } | Observed::Gone { .. }))
            };
            // Nobody watches what was destroyed.
            if seen.wait_for(is_gone).await.is_ok() {
                orchestrator.give_up(&subject).await;
            }
        });
    }

    /// The container is of no use to checks any more.
    async fn give_up(&self, subject: &Subject) {
        let is_known = self.parts.guests.has(&subject.handle);
        self.parts.guests.withdraw(&subject.handle);
        if !is_known {
            return;
        }
        subject.decided("a container that was kept for checks is lost");
        if let Err(error) = self.parts.store.doom_container(&subject.handle).await {
            return subject.failed(&error, "the container stays for the sweeper");
        }
        subject.is("destroying");
        let (orchestrator, subject) = (self.clone(), subject.clone());
        airside_tasks::spawn("end of a container", async move {
            orchestrator.destroy(&subject).await
        });
    }

    /// Runs a check in a container that takes guests, as soon as there is a place. None: the container or the
    /// connection was lost, and nothing came of it.
    pub async fn run_as_guest(
        &self,
        host: &Host,
        request: &GuestRequest,
        allowed: Duration,
    ) -> Option<GuestRun> {
        let subject = &host.subject;
        let run = async {
            let _place = host.places.acquire().await.ok()?;
            if host.touch()
                && let Err(error) = self.parts.store.note_checked_in(&subject.handle).await
            {
                subject.failed(&error, "the container may go though it is used");
            }
            let guest = self
                .parts
                .hub
                .run_guest(&subject.handle, request.hijack())
                .await;
            let mut guest = match guest {
                Ok(guest) => guest,
                Err(error @ (HijackError::Gone | HijackError::Silent | HijackError::TooOld)) => {
                    subject.failed(&error, "checks go elsewhere");
                    self.give_up(subject).await;
                    return None;
                }
                Err(HijackError::TooMany | HijackError::Busy) => return None,
            };
            converse(&mut guest, Bytes::from(request.stdin.clone())).await
        };
        let (end, said) = match tokio::time::timeout(allowed, run).await {
            Ok(ended) => ended?,
            Err(_) => (GuestEnd::TimedOut, Said::default()),
        };
        Some(GuestRun {
            worker: subject.worker.clone(),
            end,
            answer: said.answer,
            output: said.output,
        })
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
