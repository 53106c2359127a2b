//! Processes that people run beside the step's own: while it runs, and afterwards for as long as
//! the container is kept. Each has a connection of its own, and ends with it.
//!
//! What becomes of such a process never matters to the step: it is neither killed nor waited for
//! when the step ends.

mod talk;

use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use airside_model::{Handle, chain};
use airside_protocol::{Executable, Exit, Hijack, HubSays, Order, SILENCE, ShimSays, ToShim};

use crate::{
    confine::Jail,
    connection::{self, Dialer, Receiver, Sender},
    log::log,
    outbox::Outbox,
    process,
    reaper::{Guest, Reaper},
    scratch::Scratch,
    users,
};

#[derive(Clone)]
pub(crate) struct Hijacks(Arc<Parts>);

struct Parts {
    dialer: Arc<Dialer>,
    outbox: Arc<Outbox>,
    handle: Handle,
    reaper: Reaper,
    order: Mutex<Option<Order>>,
    /// The step's: a guest may do what it may, and is on its network.
    jail: OnceLock<Arc<Jail>>,
}

impl Hijacks {
    pub(crate) fn new(
        dialer: Arc<Dialer>,
        outbox: Arc<Outbox>,
        handle: Handle,
        reaper: Reaper,
    ) -> Self {
        Self(Arc::new(Parts {
            dialer,
            outbox,
            handle,
            reaper,
            order: Mutex::default(),
            jail: OnceLock::new(),
        }))
    }

    /// Takes the step's order: guests get its environment, and its user and folder unless they want
    /// others.
    pub(crate) fn ordered(&self, order: &Order) {
        let mut own = self.0.order.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(order.clone());
    }

    /// Takes the step's jail, in which guests run, too.
    pub(crate) fn jailed(&self, jail: Arc<Jail>) {
        let _ = self.0.jail.set(jail);
    }

    /// Answers the hub, in the background.
    pub(crate) fn answer(&self, hijack: Hijack) {
        let parts = self.0.clone();
        tokio::spawn(async move {
            let id = hijack.id.clone();
            if let Err(error) = parts.serve(hijack).await {
                log(format_args!("hijack {id} ended: {error}"));
            }
        });
    }
}

impl Parts {
    async fn serve(&self, hijack: Hijack) -> Result<(), connection::Error> {
        let (mut receiver, mut sender) = self.dialer.dial().await?;
        sender
            .say(ShimSays::Answer {
                handle: self.handle.clone(),
                session: self.outbox.session(),
                id: hijack.id.clone(),
            })
            .await?;
        // It was asked for twice, or its caller waits no more.
        if !begun(&mut receiver).await? {
            return Ok(());
        }
        match self.launch(hijack) {
            Ok((launched, stay)) => {
                let ended = talk::hold(launched, &mut receiver, &mut sender).await;
                drop(stay);
                ended
            }
            Err(exit) => sender.say(ShimSays::Finished { exit }).await,
        }?;
        closed(receiver, sender).await;
        Ok(())
    }

    fn launch(&self, hijack: Hijack) -> Result<(process::Launched, Stay), Exit> {
        let step = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(step) = step.as_ref() else {
            return Err(Exit::Broken("the step is not there yet".to_owned()));
        };
        let Some(jail) = self.jail.get() else {
            return Err(Exit::Broken("the step has not begun".to_owned()));
        };
        let (id, wants_scratch) = (hijack.id.clone(), hijack.scratch);
        let mut order = order(step, hijack);
        let own = (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        );
        let user =
            users::find(order.user.as_deref(), own).map_err(|error| Exit::Broken(chain(&error)))?;
        if !Path::new(&order.dir).is_dir() {
            return Err(Exit::Broken(format!("there is no folder {}", order.dir)));
        }
        let scratch = if wants_scratch {
            Some(Scratch::make(&id, &user).map_err(|error| {
                Exit::Broken(format!(
                    "there is no folder for temporary files: {}",
                    chain(&error)
                ))
            })?)
        } else {
            None
        };
        if let Some(scratch) = &scratch {
            order.env.push(("TMPDIR".to_owned(), scratch.path()));
        }
        let launched = process::launch(&order, &user, jail, &self.reaper)?;
        let stay = Stay {
            _guest: self.reaper.host(launched.pid),
            _scratch: scratch,
        };
        Ok((launched, stay))
    }
}

/// The parts that end with a guest: first its processes, then their files. Fields are dropped in
/// this order.
struct Stay {
    _guest: Guest,
    _scratch: Option<Scratch>,
}

/// The guest's process as if it were a step's.
fn order(step: &Order, hijack: Hijack) -> Order {
    let mut env = step.env.clone();
    env.extend(hijack.env);
    Order {
        run: Executable::Path(hijack.path),
        args: hijack.args,
        env,
        dir: hijack.dir.unwrap_or_else(|| step.dir.clone()),
        user: hijack.user.or_else(|| step.user.clone()),
        tty: hijack.tty,
        // It has an input, and what comes through it is not known yet.
        stdin: Some(String::new()),
        image: step.image.clone(),
        fetch: Vec::new(),
        make_dirs: Vec::new(),
        mounted: Vec::new(),
        hermetic: step.hermetic,
        upload: Vec::new(),
        fence_after_seconds: step.fence_after_seconds,
    }
}

async fn begun(receiver: &mut Receiver) -> Result<bool, connection::Error> {
    loop {
        match receiver.receive_within(SILENCE).await? {
            ToShim::Control(HubSays::Begin) => return Ok(true),
            ToShim::Control(HubSays::Heartbeat) => {}
            _ => return Ok(false),
        }
    }
}

/// Leaves it to the hub to close, so that it has read the last message. However it does that, all
/// was sent.
async fn closed(mut receiver: Receiver, _sender: Sender) {
    while receiver.receive_within(SILENCE).await.is_ok() {}
}
