//! An account for a number that has none, seen by this process and its programs alone.

use std::{fs, io};

use rustix::{
    mount::{MountPropagationFlags, mount_bind, mount_change},
    thread::UnshareFlags,
};

const ACCOUNTS: &str = "/etc/passwd";
/// The name of the file in the working folder, for a moment.
const OWN: &str = "accounts";

/// Puts a list with one more account over the system's, in a mount namespace of this process.
pub(crate) fn make(user: u32) -> io::Result<()> {
    let mut accounts = fs::read_to_string(ACCOUNTS)?;
    if !accounts.ends_with('\n') {
        accounts.push('\n');
    }
    accounts += &format!("airside-{user}:x:{user}:{user}::/nonexistent:/usr/sbin/nologin\n");
    fs::write(OWN, accounts)?;
    let covered = cover();
    fs::remove_file(OWN)?;
    covered
}

fn cover() -> io::Result<()> {
    // SAFETY: there is one thread, and no folder is shared with another process by this flag.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)? };
    let kept = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", kept)?;
    Ok(mount_bind(OWN, ACCOUNTS)?)
}
