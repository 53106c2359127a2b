//! The life of the step, stage after stage: claimed → prepared → running → settled → uploaded →
//! reported → staying. The hub and the runtime may interrupt any of them.

use std::{io, pin::Pin, process::ExitCode, sync::Arc};

use airside_model::event::Source;
use airside_protocol::{Exit, Order};
use rustix::process::Signal;
use tokio::{
    pin,
    signal::unix::{Signal as Signals, SignalKind, signal},
    time::{Duration, Instant, sleep_until},
};

use crate::{
    commands::{self, HubCommand},
    confine::{Confinement, Jail},
    connection::Dialer,
    hijack::Hijacks,
    identity::Identity,
    log::log,
    memory,
    outbox::Outbox,
    prepare::prepare,
    process::{self, Process},
    reaper::{self, Reaper},
    root::Room,
    users::User,
    volume::Volumes,
};

/// Time without a hub after which a kept container is abandoned.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// Exit status of a shim that is not welcome.
pub(crate) const REFUSED: u8 = 70;

/// Exit status of a shim whose container was taken away while its process ran: that of one which
/// SIGTERM has ended. So its pod does not end as one that has succeeded.
const TAKEN_AWAY: u8 = 143;

/// The shim ends now, whatever stage it is in.
struct Leave(ExitCode);

/// An event that concerns a stage besides its own work.
enum StageEvent {
    Claimed(Box<Order>),
    Stop {
        grace: Duration,
    },
    Committed,
    /// The runtime takes the container away.
    Terminate,
}

enum Attended<T> {
    Done(T),
    Stopped,
}

pub(crate) struct Step {
    outbox: Arc<Outbox>,
    volumes: Volumes,
    room: Room,
    commands: commands::Receiver,
    terminate: Signals,
    reaper: Reaper,
    confinement: Confinement,
    hijacks: Hijacks,
    /// Leave as soon as the result is committed.
    leaving: bool,
    /// Status with which the shim ends.
    status: ExitCode,
}

/// The result of preparing a step.
enum Preparation {
    /// The process can start as this user.
    Ready(User),
    /// The step has ended before its process started.
    Ended(Exit),
}

impl Step {
    pub(crate) fn new(
        identity: Identity,
        dialer: Arc<Dialer>,
        outbox: Arc<Outbox>,
        commands: commands::Receiver,
        reaper: Reaper,
        hijacks: Hijacks,
    ) -> io::Result<Self> {
        Ok(Self {
            room: Room::of(&identity),
            volumes: Volumes::new(dialer, outbox.clone(), identity.handle),
            outbox,
            commands,
            terminate: signal(SignalKind::terminate())?,
            reaper,
            confinement: identity.confinement,
            hijacks,
            leaving: false,
            status: ExitCode::SUCCESS,
        })
    }

    pub(crate) async fn live(mut self) -> ExitCode {
        let Leave(code) = self.stages().await;
        reaper::kill_everything();
        code
    }

    async fn stages(&mut self) -> Leave {
        let exit = match self.work().await {
            Ok(exit) => exit,
            Err(leave) => return leave,
        };
        if exit == Exit::TakenAway {
            self.status = ExitCode::from(TAKEN_AWAY);
        }
        self.outbox.finished(exit);
        self.stay().await
    }

    async fn work(&mut self) -> Result<Exit, Leave> {
        let order = self.claimed().await?;
        let fence_after = Duration::from_secs(order.fence_after_seconds);
        let user = match self.prepared(&order, fence_after).await? {
            Preparation::Ready(user) => user,
            Preparation::Ended(exit) => return Ok(exit),
        };
        let jail = match Jail::new(self.confinement, order.hermetic) {
            Ok(jail) => Arc::new(jail),
            Err(error) => {
                return Ok(Exit::Broken(format!(
                    "cannot make a network that leads nowhere for this hermetic step: {}",
                    airside_model::chain(&error)
                )));
            }
        };
        self.hijacks.jailed(jail.clone());
        let killed = memory::kills();
        let mut process = match process::start(&order, &user, &jail, &self.reaper, &self.outbox) {
            Ok(process) => process,
            Err(exit) => return Ok(exit),
        };
        self.outbox.started();
        let exit = self.ended(&mut process, fence_after).await?;
        self.settled(process).await?;
        if let Some(words) = memory::words_since(killed) {
            self.outbox.output(Source::Stderr, words.as_bytes());
        }
        if matches!(exit, Exit::Fenced | Exit::TakenAway) {
            // Another shim may have been given the step, or will be; its outputs are not ours.
            return Ok(exit);
        }
        self.uploaded(&order, exit).await
    }

    async fn claimed(&mut self) -> Result<Box<Order>, Leave> {
        loop {
            match self.hear().await? {
                StageEvent::Claimed(order) => return Ok(order),
                StageEvent::Terminate => return Err(Leave(ExitCode::SUCCESS)),
                StageEvent::Stop { .. } | StageEvent::Committed => {}
            }
        }
    }

    async fn prepared(
        &mut self,
        order: &Order,
        fence_after: Duration,
    ) -> Result<Preparation, Leave> {
        let outbox = self.outbox.clone();
        let volumes = self.volumes.clone();
        let fence = outbox.unheard_for(fence_after);
        let room = self.room.clone();
        let preparing = prepare(order, &room, &volumes);
        pin!(fence, preparing);
        loop {
            tokio::select! {
                prepared = &mut preparing => {
                    return Ok(prepared.map_or_else(Preparation::Ended, Preparation::Ready));
                }
                () = &mut fence => return Ok(Preparation::Ended(Exit::Fenced)),
                heard = self.hear() => match heard? {
                    StageEvent::Stop { .. } => return Ok(Preparation::Ended(Exit::Stopped)),
                    StageEvent::Terminate => return Ok(Preparation::Ended(Exit::TakenAway)),
                    StageEvent::Claimed(_) | StageEvent::Committed => {}
                },
            }
        }
    }

    /// Waits for the end of the process, or brings it about.
    async fn ended(&mut self, process: &mut Process, fence_after: Duration) -> Result<Exit, Leave> {
        let outbox = self.outbox.clone();
        let fence = outbox.unheard_for(fence_after);
        pin!(fence);
        let mut cause = None;
        let mut kill_at: Option<Instant> = None;
        loop {
            tokio::select! {
                status = &mut process.exited => {
                    let exit = status.map_or_else(
                        |_| Exit::Broken("the end of the process went unnoticed".into()),
                        process::exit,
                    );
                    return Ok(cause.unwrap_or(exit));
                }
                heard = self.hear() => match heard? {
                    StageEvent::Stop { grace } => {
                        cause.get_or_insert(Exit::Stopped);
                        process.signal(Signal::TERM);
                        let deadline = airside_model::deadline_after(Instant::now(), grace);
                        kill_at = Some(kill_at.map_or(deadline, |earlier| earlier.min(deadline)));
                    }
                    StageEvent::Terminate => {
                        // However the process takes it, this is not an end of its own.
                        cause.get_or_insert(Exit::TakenAway);
                        process.signal(Signal::TERM);
                    }
                    StageEvent::Claimed(_) | StageEvent::Committed => {}
                },
                () = &mut fence, if cause != Some(Exit::Fenced) => {
                    log(format_args!("no hub for {} s: the process ends", fence_after.as_secs()));
                    cause = Some(Exit::Fenced);
                    self.kill(process);
                }
                () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    kill_at = None;
                    self.kill(process);
                }
            }
        }
    }

    /// Ends what the process left behind and reads its output to the end: nothing writes any more.
    async fn settled(&mut self, process: Process) -> Result<(), Leave> {
        process.signal(Signal::KILL);
        let reaper = self.reaper.clone();
        let settling = async move {
            reaper.kill_all().await;
            for output in process.output {
                // A reader ends by itself; if it failed, it has logged that.
                let _ = output.await;
            }
        };
        pin!(settling);
        loop {
            match self.attend(settling.as_mut()).await? {
                Attended::Done(()) => return Ok(()),
                // What is there to stop has ended.
                Attended::Stopped => {}
            }
        }
    }

    async fn uploaded(&mut self, order: &Order, exit: Exit) -> Result<Exit, Leave> {
        let volumes = self.volumes.clone();
        for transfer in &order.upload {
            let uploading = volumes.upload(transfer);
            pin!(uploading);
            match self.attend(uploading).await? {
                Attended::Done(Ok(())) => {}
                Attended::Done(Err(reason)) => {
                    return Ok(Exit::Broken(format!(
                        "cannot store the output at {}: {reason}",
                        transfer.path
                    )));
                }
                Attended::Stopped => return Ok(Exit::Stopped),
            }
        }
        Ok(exit)
    }

    /// Waits until the container is needed no more, or its result is committed and it was not asked
    /// for in a long time. The control connection reports meanwhile.
    async fn stay(&mut self) -> Leave {
        let outbox = self.outbox.clone();
        let forgotten = outbox.unheard_for(FORGOTTEN);
        pin!(forgotten);
        let mut committed = false;
        loop {
            tokio::select! {
                heard = self.hear() => match heard {
                    Err(leave) => return leave,
                    Ok(StageEvent::Committed) => committed = true,
                    Ok(_) => {}
                },
                () = &mut forgotten, if committed => return Leave(self.status),
            }
            if committed && self.leaving {
                return Leave(self.status);
            }
        }
    }

    fn kill(&self, process: &Process) {
        process.signal(Signal::KILL);
        self.reaper.kill_now();
    }

    /// Does `work` while listening.
    async fn attend<T>(
        &mut self,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Result<Attended<T>, Leave> {
        loop {
            tokio::select! {
                done = work.as_mut() => return Ok(Attended::Done(done)),
                heard = self.hear() => {
                    if let StageEvent::Stop { .. } = heard? {
                        return Ok(Attended::Stopped);
                    }
                }
            }
        }
    }

    /// The next thing the hub or the runtime wants.
    async fn hear(&mut self) -> Result<StageEvent, Leave> {
        let word = tokio::select! {
            Some(word) = self.commands.recv() => word,
            Some(()) = self.terminate.recv() => {
                self.leaving = true;
                return Ok(StageEvent::Terminate);
            }
            else => std::future::pending().await,
        };
        match word {
            HubCommand::Claimed(order) => Ok(StageEvent::Claimed(order)),
            HubCommand::Stop { grace } => Ok(StageEvent::Stop { grace }),
            HubCommand::Committed => Ok(StageEvent::Committed),
            HubCommand::Exit => Err(Leave(self.status)),
            HubCommand::Refused(reason) => {
                log(format_args!("the hub refuses the claim: {reason}"));
                Err(Leave(ExitCode::from(REFUSED)))
            }
        }
    }
}
