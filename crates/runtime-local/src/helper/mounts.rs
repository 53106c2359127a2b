//! Mounts the root file system together, in a mount namespace that only the container will share.

use std::{
    ffi::CString,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    mount::{MountFlags, MountPropagationFlags},
    thread::UnshareFlags,
};

use crate::plan::{Plan, Source};

pub(super) fn make(plan: &Plan, rootfs: &Path, state: &str) -> Result<(), String> {
    // SAFETY: unsharing the mount namespace is unsound only where other threads or shared
    // descriptor tables rely on it; the helper has one thread and unshares nothing else.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
        .map_err(|error| format!("cannot make a mount namespace: {error}; is this root?"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)
        .map_err(|error| format!("cannot make the mounts private: {error}"))?;
    for mount in &plan.mounts {
        let target = folder(rootfs, &mount.at)?;
        match &mount.what {
            Source::Overlay { lower, upper, work } => overlay(&target, lower, upper, work),
            Source::Bind { from } => bind(from, &target),
        }
        .map_err(|error| format!("cannot mount {}: {error}", mount.at.display()))?;
    }
    let own = folder(rootfs, Path::new("/.airside"))?;
    shim(&plan.shim, &own).map_err(|error| format!("cannot mount the shim: {error}"))?;
    let spool = folder(rootfs, Path::new(state))?;
    rustix::fs::fchmod(&spool, Mode::from_raw_mode(0o700))
        .map_err(|error| format!("{state}: {error}"))
}

fn folder(rootfs: &Path, path: &Path) -> Result<OwnedFd, String> {
    airside_tree::make_folder(rootfs, path).map_err(|error| crate::error::with_causes(&error))
}

/// The folders are named by descriptors: overlayfs then cannot trip over a colon or comma in a path
/// or over the length of all of them, and the container does not see where they are.
fn overlay(
    target: &OwnedFd,
    lower: &[PathBuf],
    upper: &Path,
    work: &Path,
) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
    let lower = lower
        .iter()
        .map(|path| open(path))
        .collect::<Result<Vec<_>, _>>()?;
    let (upper, work) = (open(upper)?, open(work)?);
    let names = lower.iter().map(name).collect::<Vec<_>>().join(":");
    // Volatile: nobody mounts this upper folder again, so nothing has to wait for the disk.
    let options = format!(
        "lowerdir={names},upperdir={},workdir={},volatile",
        name(&upper),
        name(&work)
    );
    let options = CString::new(options).expect("numbers and words hold no zero byte");
    rustix::mount::mount(
        "overlay",
        name(target),
        "overlay",
        MountFlags::empty(),
        &*options,
    )
}

fn bind(from: &Path, target: &OwnedFd) -> rustix::io::Result<()> {
    rustix::mount::mount_bind(from, name(target))
}

fn shim(shim: &Path, own: &OwnedFd) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(own, "shim", flags, Mode::from_raw_mode(0o755))?;
    bind(shim, &file)?;
    drop(file);
    // Looked up again: the file opened before lies under the mount.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mounted = rustix::fs::openat(own, "shim", flags, Mode::empty())?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV;
    rustix::mount::mount_remount(name(&mounted), flags, "")
}

fn name(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
