//! Mounts the root file system together, in a mount namespace that only the container will share.
//!
//! Folders on disk hold ids as the container sees them, and lie where only root may walk. So each
//! is first shown, translated, on a stage that every user may walk: a small file system over
//! [`stage`], which only the helper sees, and the container before it changes its root.

use std::{
    ffi::CString,
    fs::{self, DirBuilder},
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::{Path, PathBuf},
};

use airside_model::chain;
use rustix::{
    fs::{Mode, OFlags},
    mount::{MountFlags, MountPropagationFlags, OpenTreeFlags, open_tree},
    thread::UnshareFlags,
};

use super::idmap::{Acting, IdMap, attach};
use crate::{
    bundle,
    plan::{Plan, PlannedMount, Source},
    rootless,
};

/// Returns a folder that every machine has and that is not below the data of a user.
fn stage() -> &'static Path {
    // An ordinary user makes no folder in /run, but may put a mount of its own over what is there.
    Path::new(if rootless::is_inside() {
        "/mnt"
    } else {
        "/run/airside"
    })
}

/// Returns the folder in which the root file system is put together, and the container finds it.
pub(crate) fn rootfs() -> PathBuf {
    stage().join("rootfs")
}

/// The container's own folder, as its users see it.
fn own() -> PathBuf {
    stage().join("own")
}

pub(super) fn make(plan: &Plan, folder: &Path) -> Result<(), String> {
    let ids = plan.ids.map(IdMap::new).transpose();
    let ids = ids.map_err(|error| format!("cannot translate ids: {}", chain(&error)))?;
    set_stage().map_err(|error| {
        format!(
            "cannot set the stage at {}: {error}",
            stage().display(),
            error = chain(&error)
        )
    })?;
    let assembly = Assembly { ids, folder };
    assembly.show(folder, &own()).map_err(|error| {
        format!(
            "cannot show {}: {error}",
            folder.display(),
            error = chain(&error)
        )
    })?;
    let _acting = Acting::as_root_of(plan.ids).map_err(|error| {
        format!(
            "cannot switch to the container's root user: {}",
            chain(&error)
        )
    })?;
    for (number, mount) in plan.mounts.iter().enumerate() {
        assembly.mount(number, mount).map_err(|error| {
            format!(
                "cannot mount {}: {error}",
                mount.at.display(),
                error = chain(&error)
            )
        })?;
    }
    equip(plan)
}

/// Adds the shim's own files, which every container has.
fn equip(plan: &Plan) -> Result<(), String> {
    let ours = inside(Path::new("/.airside"))?;
    shim(&plan.shim, &ours).map_err(|error| format!("cannot mount the shim: {}", chain(&error)))?;
    hub(&plan.hub, &ours).map_err(|error| format!("cannot mount the hub: {}", chain(&error)))?;
    let state = bundle::STATE;
    let spool = inside(Path::new(state))?;
    rustix::fs::fchmod(&spool, Mode::from_raw_mode(0o700))
        .map_err(|error| format!("{state}: {}", chain(&error)))
}

fn set_stage() -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(stage())?;
    // SAFETY: unsharing the mount namespace is unsound only where other threads or shared
    // descriptor tables rely on it; the helper has one thread and unshares nothing else.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    rustix::mount::mount("airside", stage(), "tmpfs", flags, c"mode=0711,size=1m")?;
    for path in [rootfs(), own()] {
        DirBuilder::new().mode(0o755).create(path)?;
    }
    Ok(())
}

struct Assembly<'a> {
    ids: Option<IdMap>,
    /// The container's, on disk.
    folder: &'a Path,
}

impl Assembly<'_> {
    fn mount(&self, number: usize, mount: &PlannedMount) -> io::Result<()> {
        let target = match mount.at.parent() {
            Some(_) => inside(&mount.at).map_err(io::Error::other)?,
            None => open_folder(&rootfs())?,
        };
        match &mount.what {
            Source::Overlay { lower, upper, work } => {
                let shown = self.lower(number, lower)?;
                overlay(&target, &shown, &self.staged(upper)?, &self.staged(work)?)
            }
            Source::Bind { from } => Ok(rustix::mount::mount_bind_recursive(
                self.staged(from)?,
                name(&target),
            )?),
        }
    }

    fn lower(&self, number: usize, lower: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let mut shown = Vec::new();
        for (layer, path) in lower.iter().enumerate() {
            let place = stage().join(format!("lower-{number}-{layer}"));
            fs::create_dir(&place)?;
            self.show(path, &place)?;
            shown.push(place);
        }
        Ok(shown)
    }

    /// Puts `path`, translated, on the stage.
    fn show(&self, path: &Path, place: &Path) -> io::Result<()> {
        let view = match &self.ids {
            Some(ids) => ids.view(path)?,
            None => {
                let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                open_tree(rustix::fs::CWD, path, flags)?
            }
        };
        attach(&view, open_folder(place)?.as_fd())
    }

    /// Returns the path on the stage of something in the container's own folder.
    fn staged(&self, path: &Path) -> io::Result<PathBuf> {
        let inside = path.strip_prefix(self.folder).map_err(io::Error::other)?;
        Ok(own().join(inside))
    }
}

/// Makes a folder in what is there of the root file system.
fn inside(path: &Path) -> Result<OwnedFd, String> {
    airside_archive::make_folder(&rootfs(), path).map_err(|error| chain(&error))
}

/// The folders are named by descriptors: overlayfs then cannot trip over a colon or comma in a path
/// or over the length of all of them, and the container does not see where they are.
fn overlay(target: &OwnedFd, lower: &[PathBuf], upper: &Path, work: &Path) -> io::Result<()> {
    let lower = lower
        .iter()
        .map(|path| open_folder(path))
        .collect::<Result<Vec<_>, _>>()?;
    let (upper, work) = (open_folder(upper)?, open_folder(work)?);
    let names = lower.iter().map(name).collect::<Vec<_>>().join(":");
    // Volatile: this upper folder is never mounted again, so nothing has to wait for the disk. With
    // metacopy a change of owner copies no contents; marks that an ordinary user can set do not
    // allow for that.
    let marks = if rootless::is_inside() {
        "userxattr"
    } else {
        "metacopy=on"
    };
    let options = format!(
        "lowerdir={names},upperdir={},workdir={},volatile,{marks}",
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
    )?;
    Ok(())
}

fn shim(shim: &Path, ours: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(ours, "shim", flags, Mode::from_raw_mode(0o755))?;
    lend(shim, ours, "shim", &file)
}

fn hub(folder: &Path, ours: &OwnedFd) -> io::Result<()> {
    match rustix::fs::mkdirat(ours, "hub", Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let target = rustix::fs::openat(ours, "hub", flags, Mode::empty())?;
    lend(folder, ours, "hub", &target)
}

/// Shows something of the machine's over `target`, which is `at` in our folder, to be read only.
fn lend(from: &Path, ours: &OwnedFd, at: &str, target: &OwnedFd) -> io::Result<()> {
    rustix::mount::mount_bind(from, name(target))?;
    // Looked up again: what was opened before lies under the mount.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mounted = rustix::fs::openat(ours, at, flags, Mode::empty())?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID;
    Ok(rustix::mount::mount_remount(name(&mounted), flags, "")?)
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn name(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
