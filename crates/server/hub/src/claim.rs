//! Control connections: the claim, then output up and directives down.

use std::{collections::HashSet, io, sync::Arc, time::Duration};

use airside_model::chain;
use airside_protocol::{
    Claim, Claimed, HEARTBEAT, HubSays, IMAGE_PROTOCOL, OLDEST_PROTOCOL, PROTOCOL, ShimSays, ToHub,
};
use airside_store::{Claimant, Container};
use sha2::{Digest, Sha256};
use tracing::{debug, info, warn};

use crate::{
    Parts, Unproven,
    connection::{Receiver, Sender},
    session::{Directive, SessionEvent, Sessions, Slot},
};

/// Time for which a shim waits for the driver of its step to attach before it is asked to come
/// back.
const DRIVER_TIMEOUT: Duration = Duration::from_secs(10);

const NOT_TO_BE_CLAIMED: &str =
    "the step is not to be claimed: another instance has it, or the right to it was withdrawn";

pub(crate) fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

enum ClaimVerdict {
    Accepted {
        slot: Arc<Slot>,
        session: String,
        container: Box<Container>,
    },
    Refused {
        reason: String,
        retry: bool,
    },
    /// The shim is the step's own, but cannot run it.
    Unfit {
        reason: String,
    },
}

impl ClaimVerdict {
    fn never(reason: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
            retry: false,
        }
    }

    fn later(reason: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
            retry: true,
        }
    }
}

/// Serves one control connection to its end.
pub(crate) async fn serve(
    parts: &Parts,
    sessions: &Sessions,
    claim: Claim,
    mut receiver: Receiver,
    mut sender: Sender,
) {
    match judge(parts, sessions, &claim, &mut receiver).await {
        ClaimVerdict::Refused { reason, retry } => {
            warn!(handle = %claim.handle, instance = claim.instance, reason, retry, "claim refused");
            if !retry && let Some(slot) = sessions.get(&claim.handle) {
                let _ = slot.events.try_send(SessionEvent::Refused {
                    reason: reason.clone(),
                });
            }
            sender.refuse(reason, retry).await;
        }
        ClaimVerdict::Unfit { reason } => {
            warn!(handle = %claim.handle, instance = claim.instance, reason, "claim of an unfit shim refused");
            if let Some(slot) = sessions.wait(&claim.handle, DRIVER_TIMEOUT).await {
                let reason = reason.clone();
                let _ = slot.events.send(SessionEvent::Unfit { reason }).await;
            }
            sender.refuse(reason, false).await;
        }
        ClaimVerdict::Accepted {
            slot,
            session,
            container,
        } => {
            log_claim(&container, &claim.instance);
            let ended = converse(&slot, session, claim.protocol, receiver, sender).await;
            if let Err(error) = ended {
                log_disconnect(&container, &slot, &error);
            }
            let _ = slot.events.send(SessionEvent::Disconnected).await;
        }
    }
}

/// Logs the end of a shim's connection. A shim that closes it, or that was dismissed and whose
/// container is being removed, ends as it should.
fn log_disconnect(container: &Container, slot: &Slot, error: &io::Error) {
    let Container {
        build,
        plan: step,
        worker,
        handle,
        ..
    } = container;
    if slot.is_dismissed() || error.kind() == io::ErrorKind::UnexpectedEof {
        debug!(%build, %step, %worker, %handle, error = %chain(error), "shim's connection ended");
    } else {
        info!(%build, %step, %worker, %handle, error = %chain(error), "shim disconnected");
    }
}

/// Logs a claim. The first one is the point after which the step may have run; later ones are the
/// same shim's.
fn log_claim(container: &Container, instance: &str) {
    let Container {
        build,
        plan: step,
        worker,
        handle,
        ..
    } = container;
    match container.claimed_at {
        None => info!(%build, %step, %worker, %handle, instance, "container claimed"),
        Some(_) => info!(%build, %step, %worker, %handle, instance, "shim reconnected"),
    }
}

/// The claim is committed before it is answered: from then on the step may have run.
async fn judge(
    parts: &Parts,
    sessions: &Sessions,
    claim: &Claim,
    receiver: &mut Receiver,
) -> ClaimVerdict {
    let container: Container = match parts.store.container(&claim.handle).await {
        Ok(Some(container)) => container,
        Ok(None) => return ClaimVerdict::never("there is no such step, or no longer"),
        Err(error) => return unavailable(&error),
    };
    let proof = claim.proof.as_deref();
    if let Err(Unproven { reason, retry }) = parts.proofs.verify(&container, proof).await {
        return ClaimVerdict::Refused { reason, retry };
    }
    if !(OLDEST_PROTOCOL..=PROTOCOL).contains(&claim.protocol) {
        let reason = format!(
            "the shim speaks protocol {}, this hub {OLDEST_PROTOCOL} to {PROTOCOL}: use the shim that \
             came with this airside",
            claim.protocol
        );
        return unfit(parts, claim, reason).await;
    }
    // Only the step's own shim is waited with.
    let token = hash(&claim.token);
    match parts.store.is_token_of(&claim.handle, &token).await {
        Ok(true) => receiver.is_known(),
        Ok(false) => return ClaimVerdict::never(NOT_TO_BE_CLAIMED),
        Err(error) => return unavailable(&error),
    }
    let Some(slot) = sessions.wait(&claim.handle, DRIVER_TIMEOUT).await else {
        return ClaimVerdict::later("no server drives this step at the moment");
    };
    if slot.work.order.image.is_some() && claim.protocol < IMAGE_PROTOCOL {
        let reason = "the step's image is an artifact, and the shim is too old to run one: use the shim that came with \
                      this airside";
        return unfit(parts, claim, reason.to_owned()).await;
    }
    let session = hex::encode(rand::random::<[u8; 16]>());
    let claimant = Claimant {
        handle: &claim.handle,
        token_hash: &token,
        instance: &claim.instance,
        session_hash: &hash(&session),
    };
    match parts.store.claim(claimant).await {
        Ok(true) => ClaimVerdict::Accepted {
            slot,
            session,
            container: Box::new(container),
        },
        Ok(false) => ClaimVerdict::never(NOT_TO_BE_CLAIMED),
        Err(error) => unavailable(&error),
    }
}

/// Returns the verdict on a shim of no use. Only one with the step's token may thereby end the
/// step.
async fn unfit(parts: &Parts, claim: &Claim, reason: String) -> ClaimVerdict {
    match parts
        .store
        .may_claim(&claim.handle, &hash(&claim.token))
        .await
    {
        Ok(true) => ClaimVerdict::Unfit { reason },
        Ok(false) => ClaimVerdict::never(reason),
        Err(error) => unavailable(&error),
    }
}

fn unavailable(error: &airside_store::Error) -> ClaimVerdict {
    warn!(error = %chain(&error), "claim postponed: the store does not answer");
    ClaimVerdict::later("the hub cannot judge claims at the moment")
}

async fn converse(
    slot: &Slot,
    session: String,
    protocol: u32,
    mut receiver: Receiver,
    mut sender: Sender,
) -> io::Result<()> {
    let mut generation = slot.generation.subscribe();
    slot.generation.send_modify(|generation| *generation += 1);
    generation.mark_unchanged();
    let mut directives = slot.directive.subscribe();
    let mut told = Directive {
        acked: directives.borrow().acked,
        ..Directive::default()
    };
    let claimed = Claimed {
        session,
        epoch: slot.work.epoch as u64,
        output_received: told.acked,
        order: slot.work.order.clone(),
    };
    sender.say(HubSays::Claimed(Box::new(claimed))).await?;
    if slot.events.send(SessionEvent::Connected).await.is_err() {
        return Ok(());
    }
    directives.mark_changed();
    let mut calls = slot.calls.subscribe();
    calls.mark_changed();
    let mut called = HashSet::new();
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    loop {
        tokio::select! {
            message = receiver.next() => {
                let Some(event) = session_event(slot, message?)? else { continue };
                // A driver that reads no more has detached: the shim should look for the next one.
                if slot.events.send(event).await.is_err() && !told.committed {
                    return Err(io::Error::other("the step's driver has detached"));
                }
            }
            changed = directives.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                let wanted = directives.borrow_and_update().clone();
                send_directives(&mut sender, &mut told, wanted).await?;
            }
            Ok(()) = calls.changed() => {
                let unanswered = slot.calls.unanswered(protocol);
                called.retain(|id| unanswered.iter().any(|hijack| hijack.id == *id));
                for hijack in unanswered {
                    if called.insert(hijack.id.clone()) {
                        sender.say(HubSays::Hijack(Box::new(hijack))).await?;
                    }
                }
            }
            // The driver is gone, which ends a silent shim's claim too. Its driver's last word
            // comes first.
            () = slot.events.closed(), if !told.committed => {
                if !directives.borrow().committed {
                    return Err(io::Error::other("the step's driver has detached"));
                }
                let wanted = directives.borrow_and_update().clone();
                send_directives(&mut sender, &mut told, wanted).await?;
            }
            _ = heartbeat.tick() => sender.say(HubSays::Heartbeat).await?,
            _ = generation.changed() => return Err(io::Error::other("the shim has a newer connection")),
        }
    }
}

fn session_event(slot: &Slot, message: ToHub) -> io::Result<Option<SessionEvent>> {
    match message {
        ToHub::Output(output) => match slot.fresh(output) {
            Ok(output) => Ok(output.map(SessionEvent::Output)),
            Err(gap) => Err(io::Error::other(format!(
                "output from {} to {} is missing",
                gap.expected, gap.found
            ))),
        },
        ToHub::Control(ShimSays::Started) => Ok(Some(SessionEvent::Started)),
        ToHub::Control(ShimSays::Finished { exit }) => Ok(Some(SessionEvent::Finished(exit))),
        ToHub::Control(ShimSays::Heartbeat) => Ok(None),
        other => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{other:?} does not belong on a control connection"),
        )),
    }
}

async fn send_directives(
    sender: &mut Sender,
    told: &mut Directive,
    wanted: Directive,
) -> io::Result<()> {
    if wanted.acked > told.acked {
        sender
            .say(HubSays::Ack {
                offset: wanted.acked,
            })
            .await?;
    }
    if let (Some(grace_seconds), None) = (wanted.stop, told.stop) {
        sender.say(HubSays::Stop { grace_seconds }).await?;
    }
    if wanted.committed && !told.committed {
        sender.say(HubSays::Committed).await?;
    }
    if wanted.exit && !told.exit {
        sender.say(HubSays::Exit).await?;
    }
    *told = wanted;
    Ok(())
}
