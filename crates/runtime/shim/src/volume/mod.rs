//! Volumes between the hub and our file system: a connection for each, tried again from the start
//! until it works or cannot.

mod download;
mod pipe;
mod upload;

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use airside_model::{Handle, chain};
use airside_protocol::Transfer;

use crate::{backoff::Backoff, connection, connection::Dialer, log::log, outbox::Outbox};

/// A volume that arrives damaged this often is damaged where it comes from.
const DAMAGED_LIMIT: u32 = 3;
/// The hub may wait for its disks, but not for ever.
const STALL: Duration = Duration::from_secs(120);

/// The reason why one attempt did not work.
enum Trouble {
    /// The connection failed, or the hub wants to be asked again.
    Again(String),
    /// The received volume is not the one that was sent.
    Damaged(String),
    Final(String),
}

impl From<connection::Error> for Trouble {
    fn from(error: connection::Error) -> Self {
        Self::Again(chain(&error))
    }
}

fn refused(reason: String, retry: bool) -> Trouble {
    if retry {
        Trouble::Again(reason)
    } else {
        Trouble::Final(reason)
    }
}

#[derive(Clone)]
pub(crate) struct Volumes {
    dialer: Arc<Dialer>,
    outbox: Arc<Outbox>,
    handle: Handle,
}

impl Volumes {
    pub(crate) fn new(dialer: Arc<Dialer>, outbox: Arc<Outbox>, handle: Handle) -> Self {
        Self {
            dialer,
            outbox,
            handle,
        }
    }

    /// Puts a volume where its transfer says. The error is in words for the build's log.
    pub(crate) async fn fetch(&self, transfer: &Transfer) -> Result<(), String> {
        let dest = Path::new(&transfer.path);
        fs::create_dir_all(dest).map_err(|error| chain(&error))?;
        // What was there before us (an input that this one lies over) is not ours to remove.
        let fresh = is_empty(dest).map_err(|error| chain(&error))?;
        let mut patience = Patience::new(&transfer.path);
        loop {
            match self.try_fetch(transfer).await {
                Ok(()) => return Ok(()),
                Err(trouble) => patience.lose(trouble).await?,
            }
            if fresh {
                airside_archive::clear(dest).map_err(|error| chain(&error))?;
            }
        }
    }

    /// Sends what is at the transfer's path to the hub. The error is in words for the build's log.
    pub(crate) async fn upload(&self, transfer: &Transfer) -> Result<(), String> {
        // The process may have removed it; an output that is not there is an empty one.
        fs::create_dir_all(&transfer.path).map_err(|error| chain(&error))?;
        let mut patience = Patience::new(&transfer.path);
        loop {
            match self.try_upload(transfer).await {
                Ok(()) => return Ok(()),
                Err(trouble) => patience.lose(trouble).await?,
            }
        }
    }
}

/// Decides whether to try again, and when.
struct Patience<'a> {
    path: &'a str,
    backoff: Backoff,
    damaged: u32,
    complaint: String,
}

impl<'a> Patience<'a> {
    fn new(path: &'a str) -> Self {
        Self {
            path,
            backoff: Backoff::new(),
            damaged: 0,
            complaint: String::new(),
        }
    }

    async fn lose(&mut self, trouble: Trouble) -> Result<(), String> {
        let reason = match trouble {
            Trouble::Final(reason) => return Err(reason),
            Trouble::Damaged(reason) => {
                self.damaged += 1;
                if self.damaged >= DAMAGED_LIMIT {
                    return Err(format!("{reason}, {} times in a row", self.damaged));
                }
                reason
            }
            Trouble::Again(reason) => reason,
        };
        if reason != self.complaint {
            log(format_args!(
                "volume at {}: {reason}; trying again",
                self.path
            ));
            self.complaint = reason;
        }
        self.backoff.wait().await;
        Ok(())
    }
}

fn is_empty(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(folder)?.next().is_none())
}
