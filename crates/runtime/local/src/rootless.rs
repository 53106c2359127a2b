//! Makes an ordinary user root of a world of its own, in which local steps work as they do for
//! root.
//!
//! The process moves, before it has a second thread, into a user namespace with the ids that the
//! machine set aside for its user, a mount namespace, and a control group namespace whose root is
//! the group that was delegated to it. All the rest of this crate then needs to know little: see
//! [`is_inside`]. What an ordinary user cannot have is a network for each step, and views of
//! folders with other ids.

mod group;
mod subordinate;

use std::{
    fs, io,
    io::Write,
    process::{Command, Stdio},
};

use rustix::{mount::MountPropagationFlags, thread::UnshareFlags};

use group::Group;
use subordinate::Range;

/// The reason why an ordinary user cannot have steps here, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    #[error(
        "this machine has control groups of version 1, which only root may use: start airside as root, or boot \
         the machine with version 2 (systemd.unified_cgroup_hierarchy=1)"
    )]
    OldGroups,
    #[error(
        "the control group {group} was not delegated to this user: start airside with `systemd-run --user --scope \
         -p Delegate=yes airside …`, or as root"
    )]
    NotDelegated { group: String },
    #[error(
        "the control group {group} lacks the controllers {missing}: let systemd delegate them to users \
         (`Delegate=memory pids cpu` in a drop-in of user@.service), or start airside as root"
    )]
    NoControllers { group: String, missing: String },
    #[error(
        "airside is not alone in the control group {group}, and must be to make groups below it: start it with \
         `systemd-run --user --scope -p Delegate=yes airside …`"
    )]
    NotAlone { group: String },
    #[error(
        "{file} sets no {} ids aside for user {user}: as root, run `usermod --add-subuids 100000-165535 \
         --add-subgids 100000-165535 {user}`, or start airside as root",
        subordinate::NEEDED
    )]
    NoIds { file: &'static str, user: String },
    #[error(
        "ids cannot be mapped: {message}. This takes `newuidmap` and `newgidmap` (Debian's package uidmap)"
    )]
    Mapping { message: String },
    #[error("cannot {what}")]
    Kernel {
        what: &'static str,
        #[source]
        source: io::Error,
    },
}

/// Returns true in a user namespace that is not the machine's, made by [`Rootless::enter`] or by
/// the caller of this program.
pub(crate) fn is_inside() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.contains("4294967295"))
}

/// An ordinary user who could be root of a world of its own; nothing has changed yet.
pub struct Rootless {
    group: Group,
    users: Range,
    groups: Range,
}

impl Rootless {
    /// `None` for root, who has no need of it.
    pub fn prepare() -> Result<Option<Self>, Obstacle> {
        if rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let group = Group::own()?;
        let (users, groups) = subordinate::ranges()?;
        Ok(Some(Self {
            group,
            users,
            groups,
        }))
    }

    /// Moves this process, which must have one thread only, into its namespaces. After an error the
    /// process is good for nothing more.
    pub fn enter(self) -> Result<(), Obstacle> {
        map_ids(self.users, self.groups)?;
        // SAFETY: unsharing is unsound only where other threads rely on what is shared; there are
        // none.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWCGROUP) }
            .map_err(kernel("make namespaces for mounts and control groups"))?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", private).map_err(kernel("keep mounts to ourselves"))?;
        rustix::mount::mount_bind(&self.group.folder, group::ROOT).map_err(kernel(
            "show the delegated control group as the root of all",
        ))?;
        self.group.settle().map_err(|source| Obstacle::Kernel {
            what: "divide the delegated control group",
            source,
        })
    }
}

fn kernel(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> Obstacle {
    move |errno| Obstacle::Kernel {
        what,
        source: errno.into(),
    }
}

/// The programs that may map more than one id are called from outside of the namespace, once it is
/// there.
fn map_ids(users: Range, groups: Range) -> Result<(), Obstacle> {
    let mapping = |error: io::Error| Obstacle::Mapping {
        message: airside_model::chain(&error),
    };
    let pid = std::process::id();
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    let script = format!(
        "read go && newuidmap {pid} 0 {} 1 1 {} {} && newgidmap {pid} 0 {} 1 1 {} {}",
        uid.as_raw(),
        users.first,
        subordinate::NEEDED,
        gid.as_raw(),
        groups.first,
        subordinate::NEEDED,
    );
    let mut outside = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(mapping)?;
    // SAFETY: as in `Rootless::enter`.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }
        .map_err(kernel("make a user namespace"))?;
    if let Some(mut stdin) = outside.stdin.take() {
        stdin.write_all(b"go\n").map_err(mapping)?;
    }
    let output = outside.wait_with_output().map_err(mapping)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Obstacle::Mapping {
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
