//! Change from root to a user who owns nothing. The capabilities go with it, for good, but for
//! those that the reach keeps.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, chown},
};

use airside_confine::Capabilities;

use crate::{Confinement, NOBODY, SandboxReach, account};

/// Returns the user that a process of root becomes, after it got its account, and the name of what
/// the machine lacks. Landlock forbids the mount for an account, so this comes before.
/// `is_scoped` says that Landlock keeps processes of one user from each other's signals and traces.
pub(crate) fn prepare(
    confinement: &Confinement<'_>,
    is_scoped: bool,
) -> io::Result<(u32, Option<String>)> {
    let Some(user) = choose(confinement, is_scoped) else {
        let words = "no user is left for it, and it may share one only where Landlock scopes signals (Linux 6.12)";
        return Err(io::Error::other(words));
    };
    let needs_account = confinement.needs_account && user != NOBODY;
    let lacks = (needs_account && account::make(user).is_err())
        .then(|| "an account of its own, which ssh insists on".to_owned());
    Ok((user, lacks))
}

/// The account that every system has is for processes that cannot signal each other; others get a
/// user of their own.
fn choose(confinement: &Confinement<'_>, is_scoped: bool) -> Option<u32> {
    if confinement.needs_account && is_scoped {
        return Some(NOBODY);
    }
    confinement.user
}

/// Becomes another user than root, and gives that user the working folder. Gives the name of what
/// the machine lacks.
pub(crate) fn leave_root(user: u32, reach: SandboxReach) -> io::Result<Option<String>> {
    Capabilities::NONE.bound()?;
    match take_over(user, reach) {
        // A user namespace may know few numbers; this one it should.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) && user != NOBODY => {
            take_over(NOBODY, reach)?;
            Ok(Some("a user of its own".to_owned()))
        }
        other => other.map(|()| None),
    }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn hostile_processes_share_a_user_only_where_signals_are_scoped() {
        for (user, needs_account, is_scoped, expected) in [
            (Some(60_777), true, true, Some(NOBODY)),
            (None, true, true, Some(NOBODY)),
            (Some(60_777), true, false, Some(60_777)),
            (None, true, false, None),
            (Some(60_777), false, true, Some(60_777)),
            (Some(60_777), false, false, Some(60_777)),
            (None, false, true, None),
        ] {
            let confinement = Confinement {
                folder: Path::new("/"),
                reach: SandboxReach::System,
                user,
                needs_account,
                memory: 0,
                file: 0,
            };
            let chosen = choose(&confinement, is_scoped);
            assert_eq!(chosen, expected, "{user:?} {needs_account} {is_scoped}");
        }
    }
}
