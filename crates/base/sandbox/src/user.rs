//! Change from root to a user who owns nothing. The capabilities go with it, for good, but for
//! those that the reach keeps.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, chown},
};

use airside_confine::Capabilities;

use crate::{Confinement, NOBODY, SandboxReach, account};

/// Becomes another user than root, and gives that user the working folder. Gives the name of what
/// the machine lacks. `apart` says that Landlock keeps processes of one user from each other.
pub(crate) fn leave_root(confinement: &Confinement<'_>, apart: bool) -> io::Result<Option<String>> {
    let mut lacks = None;
    let user = match (confinement.user, confinement.needs_account) {
        (_, true) if apart => NOBODY,
        (Some(user), false) => user,
        (Some(user), true) => {
            if account::make(user).is_err() {
                lacks = Some("an account of its own, which ssh insists on".to_owned());
            }
            user
        }
        (None, _) => {
            let words = "no user is left for it, and without Landlock it may not share one";
            return Err(io::Error::other(words));
        }
    };
    Capabilities::NONE.bound()?;
    match take_over(user, confinement.reach) {
        // A user namespace may know few numbers; this one it should.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) && user != NOBODY => {
            take_over(NOBODY, confinement.reach)?;
            lacks = Some("a user of its own".to_owned());
        }
        other => other?,
    }
    Ok(lacks)
}

fn take_over(user: u32, reach: SandboxReach) -> io::Result<()> {
    // A process that keeps the capabilities over owners needs no folder of its own.
    if reach == SandboxReach::System && fs::metadata(".")?.uid() == 0 {
        chown(".", Some(user), Some(user))?;
    }
    become_user(user, reach)
}

fn become_user(user: u32, reach: SandboxReach) -> io::Result<()> {
    let keeps = libc::c_ulong::from(reach == SandboxReach::Folder);
    // SAFETY: these calls change ids and a flag of this process and touch no memory; there is one
    // thread.
    let done = unsafe {
        libc::prctl(libc::PR_SET_KEEPCAPS, keeps, 0, 0, 0) == 0
            && libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(user, user, user) == 0
            && libc::setresuid(user, user, user) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    match reach {
        SandboxReach::System => Capabilities::NONE.give_up_others(),
        SandboxReach::Folder => write_as_root(),
    }
}

/// Folders that no layer names are to be root's. For signals and traces the process stays the other
/// user's.
fn write_as_root() -> io::Result<()> {
    Capabilities::FILE_OWNERS_AND_IDS.hold_only()?;
    // SAFETY: these calls change ids of this process and touch no memory; there is one thread. The
    // number that stands for no user changes nothing, and so returns what is set.
    let set = unsafe {
        libc::setfsgid(0);
        libc::setfsuid(0);
        libc::setfsgid(u32::MAX) == 0 && libc::setfsuid(u32::MAX) == 0
    };
    if !set {
        return Err(io::Error::other("files cannot be written as root"));
    }
    Capabilities::FILE_OWNERS.hold_only()
}
