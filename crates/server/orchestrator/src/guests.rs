//! Checks as guests of a container that is there for them: a process beside the first one's, over
//! the shim's connection.
//!
//! A container is offered under a name that says which team may use it and what is in it
//! ([`hosts`]). It stays as long as it is used. This server alone knows the containers that it
//! offers: those of an earlier server are collected.

mod hosts;

use std::{sync::Arc, time::Duration};

use airside_hub::{Hijack, HijackError, HijackEvent, HijackInput, HijackRequest};
use airside_model::{WorkerName, event::Source};
use airside_protocol::{Executable, Exit, OWN_PROGRAM};
use airside_runtime::Observed;
use bytes::Bytes;

pub(crate) use hosts::Hosts;
pub use hosts::{Asker, Host, HostLookup, HostTicket};

use crate::{
    ContainerHold, Orchestrator, StepRequest, container_ref::ContainerRef, output::MAX_ANSWER,
    request::Afterwards,
};

/// Output of a check beyond this is dropped.
const MAX_OUTPUT: usize = 1 << 20;

/// The process of a check. It sees this and nothing else of what the server knows.
#[derive(Clone)]
pub struct GuestRequest {
    pub run: Executable,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub user: Option<String>,
    pub stdin: String,
    /// True if files that the process writes into `TMPDIR` go with it.
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

/// The end of a guest's process and all that it printed.
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
    /// Returns the container that is offered under this name, or the turn to make one. Waits for
    /// one that another caller is making. With `anew`, a container that could not be made a moment
    /// ago is tried again.
    pub async fn host(&self, name: &str, asker: Asker, anew: bool) -> HostLookup {
        self.parts.guests.find(name, asker, anew).await
    }

    /// Returns the step of a container that is there for guests alone: it has nothing of theirs and
    /// ends at once.
    pub fn hosting(request: StepRequest) -> StepRequest {
        StepRequest {
            run: Executable::Shim,
            args: vec!["nothing".to_owned()],
            stdin: None,
            ..request
        }
    }

    /// Offers the container of a step that has ended to the checks that wait for it and to later
    /// ones. Returns none if the container was lost meanwhile. It is used for no longer than
    /// `lifetime`.
    pub async fn offer(
        &self,
        held: ContainerHold,
        ticket: HostTicket,
        lifetime: Option<Duration>,
    ) -> Option<Arc<Host>> {
        let ContainerHold(Some(mut holding)) = held else {
            return None;
        };
        let container_ref = holding.container_ref.clone();
        if holding.session.is_none() {
            self.discard(ContainerHold(Some(holding))).await;
            return None;
        }
        // Known before it is kept, or the sweeper would take it for one of an earlier server.
        let host = ticket.offer(container_ref.clone(), lifetime);
        holding.afterwards = Afterwards::Kept;
        if let Err(error) = self
            .parts
            .store
            .note_checked_in(&container_ref.handle)
            .await
        {
            self.parts.guests.withdraw(&container_ref.handle);
            container_ref.log_failure(&error, "container not kept for checks");
            self.discard(ContainerHold(Some(holding))).await;
            return None;
        }
        self.release(ContainerHold(Some(holding))).await;
        self.watch_host(container_ref);
        Some(host)
    }

    /// Takes the container's name away as soon as its runtime says that it is gone.
    fn watch_host(&self, container_ref: ContainerRef) {
        let (orchestrator, mut seen) = (
            self.clone(),
            self.parts.workers.watch(&container_ref.handle),
        );
        airside_tasks::spawn("guests of a container", async move {
            let is_gone = |seen: &Option<Observed>| {
                matches!(seen, Some(Observed::Leaving { .. } | Observed::Gone { .. }))
            };
            // The watch ends with the container's destruction.
            if seen.wait_for(is_gone).await.is_ok() {
                orchestrator.give_up(&container_ref).await;
            }
        });
    }

    /// The container is of no use to checks any more.
    async fn give_up(&self, container_ref: &ContainerRef) {
        let is_known = self.parts.guests.has(&container_ref.handle);
        self.parts.guests.withdraw(&container_ref.handle);
        if !is_known {
            return;
        }
        container_ref.log_decision("container kept for checks lost");
        if let Err(error) = self.parts.store.doom_container(&container_ref.handle).await {
            return container_ref.log_failure(&error, "container left to the sweeper");
        }
        container_ref.log_state("destroying");
        let (orchestrator, container_ref) = (self.clone(), container_ref.clone());
        airside_tasks::spawn("end of a container", async move {
            orchestrator.destroy(&container_ref).await
        });
    }

    /// Runs a check in a container that takes guests, as soon as it has room. Returns none if the
    /// container or the connection was lost.
    pub async fn run_as_guest(
        &self,
        host: &Host,
        request: &GuestRequest,
        allowed: Duration,
    ) -> Option<GuestRun> {
        let container_ref = &host.container_ref;
        let run = async {
            let _place = host.places.acquire().await.ok()?;
            if host.touch()
                && let Err(error) = self
                    .parts
                    .store
                    .note_checked_in(&container_ref.handle)
                    .await
            {
                container_ref.log_failure(&error, "use of a container for checks not noted");
            }
            let guest = self
                .parts
                .hub
                .run_guest(&container_ref.handle, request.hijack())
                .await;
            let mut guest = match guest {
                Ok(guest) => guest,
                Err(error @ (HijackError::Gone | HijackError::Silent | HijackError::TooOld)) => {
                    container_ref
                        .log_failure(&error, "container for checks lost; checks go elsewhere");
                    self.give_up(container_ref).await;
                    return None;
                }
                Err(HijackError::TooMany | HijackError::Busy) => return None,
            };
            converse(&mut guest, Bytes::from(request.stdin.clone())).await
        };
        let (end, said) = match tokio::time::timeout(allowed, run).await {
            Ok(ended) => ended?,
            Err(_) => (GuestEnd::TimedOut, GuestOutput::default()),
        };
        Some(GuestRun {
            worker: container_ref.worker.clone(),
            end,
            answer: said.answer,
            output: said.output,
        })
    }
}

#[derive(Default)]
struct GuestOutput {
    answer: Vec<u8>,
    output: Vec<u8>,
}

/// Gives the process its input and reads its output to the end. None: the connection was lost.
async fn converse(hijack: &mut Hijack, stdin: Bytes) -> Option<(GuestEnd, GuestOutput)> {
    let inputs = hijack.inputs.clone();
    // Beside: one that does not read its input may say something all the same.
    let feed = async move {
        let _ = inputs.send(HijackInput::Bytes(stdin)).await;
        let _ = inputs.send(HijackInput::Close).await;
        std::future::pending::<()>().await;
    };
    let hear = async {
        let mut said = GuestOutput::default();
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
