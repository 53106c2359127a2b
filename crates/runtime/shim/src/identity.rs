//! The identity of this shim and its hub: read once from the environment, and removed there.

use std::{ffi::c_char, path::PathBuf};

use airside_model::Handle;
use airside_protocol::env;
use rustix::process::DumpableBehavior;

use crate::{confine::Confinement, log::log};

const PREFIX: &str = "AIRSIDE_";
const DEFAULT_STATE: &str = "/.airside/state";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0} is not set: a runtime starts the shim with it")]
    Missing(&'static str),
    #[error("{name} is {0:?}, which is neither host:port nor unix:path", name = env::HUB)]
    Hub(String),
    #[error("the runtime asks for a confinement that this shim does not know: {0}")]
    Confinement(String),
    #[error("cannot read the proof of identity in {path}: {error}", path = path.display())]
    Proof {
        path: PathBuf,
        error: std::io::Error,
    },
}

/// The hub's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HubAddress {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
}

impl HubAddress {
    fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Some(Self::Socket(path.into()));
        }
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self::Tcp {
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    }
}

#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) hub: HubAddress,
    pub(crate) hub_pin: String,
    pub(crate) handle: Handle,
    pub(crate) token: String,
    pub(crate) proof_file: Option<PathBuf>,
    pub(crate) state: PathBuf,
    /// Folder in which the root file system of an order's image may be put together.
    pub(crate) root: Option<PathBuf>,
    /// The user of the image that the container was started in.
    pub(crate) image_user: Option<String>,
    /// The runtime's limits on the process that the shim will start.
    pub(crate) confinement: Confinement,
    /// Made up here and kept in memory only: no other process can claim as this shim.
    pub(crate) instance: String,
}

impl Identity {
    /// Returns the further proof, read anew for every claim because its author rotates it.
    pub(crate) fn proof(&self) -> Result<Option<String>, Error> {
        let Some(path) = &self.proof_file else {
            return Ok(None);
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) => Err(Error::Proof {
                path: path.clone(),
                error,
            }),
        }
    }
}

/// Keeps the task, which shares the container, out of the shim's memory, and takes in orphans where
/// the shim is not the first process and would not get them anyway.
pub(crate) fn harden() {
    if let Err(error) = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        log(format_args!(
            "cannot hide the shim's memory from the task: {error}"
        ));
    }
    let pid = rustix::process::getpid();
    if let Err(error) = rustix::process::set_child_subreaper(Some(pid)) {
        log(format_args!("cannot take in orphaned processes: {error}"));
    }
}

/// Reads the environment and wipes it. Must run before any other thread exists.
pub(crate) fn take() -> Result<Identity, Error> {
    let identity = read();
    wipe();
    identity
}

fn read() -> Result<Identity, Error> {
    let hub = required(env::HUB)?;
    Ok(Identity {
        hub: HubAddress::parse(&hub).ok_or(Error::Hub(hub))?,
        hub_pin: required(env::HUB_PIN)?.to_ascii_lowercase(),
        handle: Handle::new(required(env::HANDLE)?),
        token: required(env::TOKEN)?,
        proof_file: std::env::var_os(env::PROOF_FILE).map(PathBuf::from),
        confinement: Confinement::parse(
            std::env::var(env::TASK_CAPABILITIES).ok().as_deref(),
            std::env::var(env::TASK_SECCOMP).ok().as_deref(),
            std::env::var(env::NETWORK).ok().as_deref(),
        )
        .map_err(Error::Confinement)?,
        state: std::env::var_os(env::STATE).map_or_else(|| DEFAULT_STATE.into(), PathBuf::from),
        root: std::env::var_os(env::ROOT).map(PathBuf::from),
        image_user: std::env::var(env::IMAGE_USER).ok(),
        instance: hex::encode(rand::random::<[u8; 16]>()),
    })
}

fn required(name: &'static str) -> Result<String, Error> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or(Error::Missing(name))
}

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Overwrites the values where the kernel put them (`/proc/1/environ` shows that memory for as long
/// as the process lives), then removes the variables.
fn wipe() {
    // SAFETY: no other thread exists yet, so nothing changes the list meanwhile; it ends with a
    // null pointer and each entry is a text in writable memory that ends with a zero byte.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = std::slice::from_raw_parts_mut((*entry).cast::<u8>(), libc::strlen(*entry));
            if text.starts_with(PREFIX.as_bytes())
                && let Some(equals) = text.iter().position(|byte| *byte == b'=')
            {
                text[equals + 1..].fill(b'x');
            }
            entry = entry.add(1);
        }
    }
    let names: Vec<_> = std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
        .collect();
    for name in names {
        // SAFETY: no other thread exists yet.
        unsafe { std::env::remove_var(name) };
    }
}
