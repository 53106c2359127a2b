//! The control connection: claims, reports, listens, and comes back whenever it breaks.

use std::{sync::Arc, time::Duration};

use airside_protocol::{Claim, Claimed, HEARTBEAT, HubSays, PROTOCOL, SILENCE, ShimSays, ToShim};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    backoff::Backoff,
    commands::{self, HubCommand},
    connection::{self, Dialer, Receiver, Sender},
    hijack::Hijacks,
    identity::{self, Identity},
    log::log,
    outbox::Outbox,
};

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Connection(#[from] connection::Error),
    #[error(transparent)]
    Proof(#[from] identity::Error),
    #[error("the hub wants to be asked again: {0}")]
    Later(String),
    #[error("the hub refuses the claim: {0}")]
    Refused(String),
    #[error("the hub is of epoch {epoch}, but one of epoch {known} has answered before")]
    Stale { epoch: u64, known: u64 },
    #[error("the hub {0}")]
    Impossible(&'static str),
    #[error("cannot read the output spool: {0}")]
    Spool(std::io::Error),
}

/// Protocol of this shim. One that is built for tests may be asked to speak an earlier protocol,
/// and so be the shim of an earlier server; nothing can tell it so afterwards. A text that is not a
/// number stands for protocol 0, which no hub speaks.
const SPOKEN: u32 = match option_env!("AIRSIDE_SHIM_PROTOCOL") {
    None => PROTOCOL,
    Some(text) => match u32::from_str_radix(text, 10) {
        Ok(spoken) => spoken,
        Err(_) => 0,
    },
};

pub(crate) struct Control {
    identity: Identity,
    dialer: Arc<Dialer>,
    outbox: Arc<Outbox>,
    hijacks: Hijacks,
    commands: commands::Sender,
    claimed: bool,
    epoch: u64,
}

impl Control {
    pub(crate) fn new(
        identity: Identity,
        dialer: Arc<Dialer>,
        outbox: Arc<Outbox>,
        hijacks: Hijacks,
        commands: commands::Sender,
    ) -> Self {
        Self {
            identity,
            dialer,
            outbox,
            hijacks,
            commands,
            claimed: false,
            epoch: 0,
        }
    }

    /// Keeps a connection until the hub refuses this shim for good.
    pub(crate) async fn keep(mut self) {
        let mut backoff = Backoff::new();
        let mut complaint = String::new();
        loop {
            let error = match self.connect().await {
                Ok((receiver, sender, received)) => {
                    backoff.reset();
                    complaint.clear();
                    self.serve(receiver, sender, received).await
                }
                Err(error) => error,
            };
            if let Error::Refused(reason) = error {
                self.tell(HubCommand::Refused(reason));
                return;
            }
            let text = airside_model::chain(&error);
            if text != complaint {
                log(format_args!(
                    "no connection to the hub: {text}; trying again"
                ));
                complaint = text;
            }
            backoff.wait().await;
        }
    }

    /// Connects and claims. Gives the offset from which the hub wants the output.
    async fn connect(&mut self) -> Result<(Receiver, Sender, u64), Error> {
        let (mut receiver, mut sender) = self.dialer.dial().await?;
        let claim = Claim {
            protocol: SPOKEN,
            handle: self.identity.handle.clone(),
            token: self.identity.token.clone(),
            instance: self.identity.instance.clone(),
            proof: self.identity.proof()?,
        };
        sender.say(ShimSays::Claim(claim)).await?;
        loop {
            match receiver.receive_within(SILENCE).await? {
                ToShim::Control(HubSays::Claimed(claimed)) => {
                    let received = self.claimed(*claimed)?;
                    return Ok((receiver, sender, received));
                }
                ToShim::Control(HubSays::Refused {
                    reason,
                    retry: true,
                }) => {
                    return Err(Error::Later(reason));
                }
                ToShim::Control(HubSays::Refused {
                    reason,
                    retry: false,
                }) => {
                    return Err(Error::Refused(reason));
                }
                ToShim::Control(HubSays::Heartbeat) => {}
                _ => return Err(Error::Impossible("answers a claim with something else")),
            }
        }
    }

    fn claimed(&mut self, mut claimed: Claimed) -> Result<u64, Error> {
        if claimed.epoch < self.epoch {
            return Err(Error::Stale {
                epoch: claimed.epoch,
                known: self.epoch,
            });
        }
        if !self.outbox.acknowledged(claimed.output_received) {
            return Err(Error::Impossible(
                "claims to have output that does not exist",
            ));
        }
        self.epoch = claimed.epoch;
        self.outbox.heard();
        self.outbox.opened(claimed.session);
        if !self.claimed {
            self.claimed = true;
            let user = claimed.order.user.take().filter(|user| !user.is_empty());
            claimed.order.user = user.or_else(|| self.identity.image_user.clone());
            self.hijacks.ordered(&claimed.order);
            self.tell(HubCommand::Claimed(Box::new(claimed.order)));
        }
        let first = self.outbox.first_offset();
        if claimed.output_received < first && !self.outbox.is_committed() {
            log(format_args!(
                "the hub has lost output that it had acknowledged: bytes {} to {first}",
                claimed.output_received
            ));
        }
        Ok(first)
    }

    /// Reports and listens at the same time; neither ever waits for the other.
    async fn serve(&self, receiver: Receiver, sender: Sender, received: u64) -> Error {
        tokio::select! {
            error = self.listen(receiver) => error,
            error = self.report(sender, received) => error,
        }
    }

    async fn listen(&self, mut receiver: Receiver) -> Error {
        loop {
            match receiver.receive_within(SILENCE).await {
                Ok(message) => {
                    self.outbox.heard();
                    if let Err(error) = self.hear(message) {
                        return error;
                    }
                }
                Err(error) => return error.into(),
            }
        }
    }

    fn hear(&self, message: ToShim) -> Result<(), Error> {
        let ToShim::Control(says) = message else {
            return Err(Error::Impossible(
                "sends volume data on the control connection",
            ));
        };
        match says {
            HubSays::Heartbeat => {}
            HubSays::Ack { offset } => {
                if !self.outbox.acknowledged(offset) {
                    return Err(Error::Impossible("acknowledges output that does not exist"));
                }
            }
            HubSays::Stop { grace_seconds } => {
                self.tell(HubCommand::Stop {
                    grace: Duration::from_secs(grace_seconds),
                });
            }
            HubSays::Committed => {
                self.outbox.committed();
                self.tell(HubCommand::Committed);
            }
            HubSays::Exit => self.tell(HubCommand::Exit),
            HubSays::Hijack(hijack) => self.hijacks.answer(*hijack),
            HubSays::Refused {
                reason,
                retry: true,
            } => return Err(Error::Later(reason)),
            HubSays::Refused {
                reason,
                retry: false,
            } => return Err(Error::Refused(reason)),
            HubSays::Claimed(_)
            | HubSays::Begin
            | HubSays::Stored
            | HubSays::End(_)
            | HubSays::CloseInput
            | HubSays::Resize(_) => {
                return Err(Error::Impossible("says something out of turn"));
            }
        }
        Ok(())
    }

    async fn report(&self, mut sender: Sender, mut sent: u64) -> Error {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut progress = Progress::default();
        loop {
            match self.send_news(&mut sender, &mut sent, &mut progress).await {
                Ok(()) => {}
                Err(error) => return error,
            }
            tokio::select! {
                () = self.outbox.news() => {}
                _ = heartbeat.tick() => {
                    if let Err(error) = sender.say(ShimSays::Heartbeat).await {
                        return error.into();
                    }
                }
            }
        }
    }

    /// Sends everything that this connection has not carried yet.
    async fn send_news(
        &self,
        sender: &mut Sender,
        sent: &mut u64,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        if !progress.started && self.outbox.is_started() {
            sender.say(ShimSays::Started).await?;
            progress.started = true;
        }
        let put = |sent, frame: &mut Vec<u8>| self.outbox.put_output(sent, frame);
        while let Some(end) = put(*sent, &mut progress.frame).map_err(Error::Spool)? {
            *sent = end;
            sender.send_frame(&progress.frame).await?;
            progress.frame.clear();
        }
        sender.flush().await?;
        if !progress.finished
            && let Some(exit) = self.outbox.result(*sent)
        {
            sender.say(ShimSays::Finished { exit }).await?;
            progress.finished = true;
        }
        Ok(())
    }

    fn tell(&self, word: HubCommand) {
        // The step's life ends only with the whole program.
        let _ = self.commands.send(word);
    }
}

/// The reports that one connection has carried already.
#[derive(Default)]
struct Progress {
    started: bool,
    finished: bool,
    /// The memory that messages with output are made in.
    frame: Vec<u8>,
}
