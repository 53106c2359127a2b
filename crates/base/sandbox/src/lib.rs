//! A process that handles what strangers send confines itself first: it gives up root,
//! capabilities, most files, unusual system calls and more memory than it should need.
//!
//! The checker ([`SandboxReach::System`]) and the two processes of the image store use it: one asks
//! registries ([`SandboxReach::System`] too), the other unpacks layers ([`SandboxReach::Folder`]).
//! The process that starts them clears their environment but for [`passed_on`], and gives each a
//! number of [`Users`].
//!
//! **Invariant:** [`enter`] is called by a process with one thread, and either confines it or
//! fails; what this machine cannot do is named, never left out in silence.

#![allow(
    unsafe_code,
    reason = "a process gives up its user and its account by system calls without a safe wrapper"
)]

mod account;
mod environment;
mod files;
mod user;
mod users;

use std::{io, path::Path};

use airside_confine::Filter;
use rustix::process::{DumpableBehavior, Resource, Rlimit};

pub use environment::passed_on;
pub use files::has_landlock;
pub use users::{TakenUser, Users};

/// The number of the account that every system has for those who own nothing.
pub const NOBODY: u32 = 65534;

/// The files and servers that a confined process gets at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxReach {
    /// Programs, libraries and settings of the system, its own folder, and any server. It keeps no
    /// capability.
    System,
    /// The process reaches its own folder alone, which becomes its root, and no server. A process
    /// of root keeps the capabilities to write files of any owner in there, and to give them away.
    Folder,
}

/// The limits of one process.
#[derive(Clone, Copy, Debug)]
pub struct Confinement<'a> {
    /// The one folder that it may write to. It becomes the working folder.
    pub folder: &'a Path,
    pub reach: SandboxReach,
    /// The user that a process of root becomes. Without one it may only become `nobody`, where
    /// Landlock keeps processes of one user from each other's signals.
    pub user: Option<u32>,
    /// Programs that it runs insist on an account of their user, as `ssh` does. Where Landlock
    /// scopes signals (Linux 6.12) this is the account `nobody`; elsewhere the user gets an
    /// account that only this process sees.
    pub needs_account: bool,
    /// Bytes of memory, for it and for each program that it starts.
    pub memory: u64,
    /// Bytes of the largest file that it may write.
    pub file: u64,
}

/// Confines this process, which has one thread. Gives the names of what this machine does not have.
pub fn enter(confinement: &Confinement<'_>) -> io::Result<Vec<String>> {
    let mut without = Vec::new();
    limit(confinement)?;
    std::env::set_current_dir(confinement.folder)?;
    let root = rustix::process::geteuid().is_root();
    if root && confinement.reach == SandboxReach::Folder {
        rustix::process::chroot(".")?;
    }
    rustix::thread::set_no_new_privs(true)?;
    let is_scoped = files::scopes_signals();
    let user = if root {
        Some(user::prepare(confinement, is_scoped)?)
    } else {
        None
    };
    if !files::close(confinement.reach).map_err(io::Error::other)? {
        without.push("Landlock".to_owned());
    } else if !is_scoped && !root {
        without.push("Landlock's rules for signals".to_owned());
    }
    if let Some((user, lacks)) = user {
        without.extend(lacks);
        without.extend(user::leave_root(user, confinement.reach)?);
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    match confinement.reach {
        SandboxReach::System => Filter::default().install()?,
        SandboxReach::Folder => Filter::without_network().install()?,
    }
    Ok(without)
}

fn limit(confinement: &Confinement<'_>) -> io::Result<()> {
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Data, confinement.memory),
        (Resource::Fsize, confinement.file),
    ] {
        let now = rustix::process::getrlimit(resource);
        let most = now.maximum.map_or(most, |allowed| allowed.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(resource, limit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
