//! The root file system of a step whose image is an artifact: fetched like an input, then made this
//! process's own.
//!
//! A runtime that cannot start the shim in such an image starts it in an empty one and lends it a
//! folder. The shim unpacks the image there and changes its root, and with it that of every process
//! in the container: from then on all is as if the runtime had started the shim in that image. What
//! the container had of the machine (`/proc`, `/dev`, `/sys`, the names of hosts) is taken along as
//! it was, so what was masked there stays masked.
//!
//! The image is not trusted. So everything is mounted after the change of root, when no link leads
//! out of it.

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use airside_model::VolumeId;
use airside_protocol::Transfer;
use rustix::{
    fs::CWD,
    mount::{
        MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree,
    },
};

use crate::{identity::Identity, volume::Volumes};

/// Folder of the runtime's own files, the shim's binary among them: native resource types are
/// looked for there.
const OURS: &str = "/.airside";

/// Parts of the machine that any container shows.
const SURROUNDINGS: [&str; 6] = [
    "/proc",
    "/dev",
    "/sys",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/hostname",
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "the step's image is an artifact, and its container has no folder to put it together in: the worker's \
         runtime must give it one"
    )]
    NoRoom,
    #[error("cannot fetch the step's image: {0}")]
    Fetch(String),
    #[error(
        "the volume {0} is not an image: it has no folder `rootfs`. An image artifact comes from a get of an image, or \
         from a task that makes one in rootfs format"
    )]
    NoRootfs(VolumeId),
    #[error("cannot take {path} of the container into the step's image: {error}", path = path.display())]
    Take { path: PathBuf, error: io::Error },
    #[error("cannot make the step's image the root file system: {0}")]
    Change(io::Error),
    #[error("the thread that puts the step's image together has ended")]
    Ended,
}

/// A place in which an image can be put together, and the files of the old root that the shim needs
/// in the new one.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    folder: Option<PathBuf>,
    own: Vec<PathBuf>,
}

impl Room {
    pub(crate) fn of(identity: &Identity) -> Self {
        let mut own = vec![PathBuf::from(OURS)];
        let proof = identity.proof_file.as_deref().and_then(Path::parent);
        for path in [proof, Some(identity.state.as_path())]
            .into_iter()
            .flatten()
        {
            if !own.iter().any(|taken| path.starts_with(taken)) {
                own.push(path.to_owned());
            }
        }
        Self {
            folder: identity.root.clone(),
            own,
        }
    }

    /// Makes the image this process's root file system, unless it was started in it.
    pub(crate) async fn change_to(&self, image: &VolumeId, volumes: &Volumes) -> Result<(), Error> {
        let folder = self.folder.clone().ok_or(Error::NoRoom)?;
        if folder == Path::new("/") {
            return Ok(());
        }
        let transfer = Transfer {
            volume: image.clone(),
            path: folder.to_string_lossy().into_owned(),
        };
        volumes.fetch(&transfer).await.map_err(Error::Fetch)?;
        let rootfs = folder.join("rootfs");
        if !fs::symlink_metadata(&rootfs).is_ok_and(|found| found.is_dir()) {
            return Err(Error::NoRootfs(image.clone()));
        }
        let room = self.clone();
        let changed = tokio::task::spawn_blocking(move || room.change(&rootfs)).await;
        changed.map_err(|_| Error::Ended)?
    }

    fn change(&self, rootfs: &Path) -> Result<(), Error> {
        let mut taken = Vec::new();
        // The shim's own first: without it, it could not even say that the rest failed.
        let paths = self.own.iter().map(PathBuf::as_path);
        for path in paths.chain(SURROUNDINGS.map(Path::new)) {
            taken.extend(Taken::of(path)?);
        }
        enter(rootfs).map_err(Error::Change)?;
        taken.into_iter().try_for_each(Taken::put)
    }
}

/// A tree of the old root, at the same path in the new one.
struct Taken {
    path: PathBuf,
    tree: OwnedFd,
    folder: bool,
}

impl Taken {
    fn of(path: &Path) -> Result<Option<Self>, Error> {
        let folder = match fs::metadata(path) {
            Ok(found) => found.is_dir(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(take(path)(error)),
        };
        let how = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let tree = open_tree(CWD, path, how).map_err(|error| take(path)(error.into()))?;
        Ok(Some(Self {
            path: path.to_owned(),
            tree,
            folder,
        }))
    }

    fn put(self) -> Result<(), Error> {
        make_place(&self.path, self.folder).map_err(take(&self.path))?;
        let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&self.tree, "", CWD, &self.path, how)
            .map_err(|error| take(&self.path)(error.into()))
    }
}

fn take(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Take { path, error }
}

/// Makes something to mount upon. Images have links in such places, which lead to the files of a
/// running system.
fn make_place(path: &Path, folder: bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() == folder && !found.is_symlink() => return Ok(()),
        Ok(found) if !found.is_dir() => fs::remove_file(path)?,
        _ => {}
    }
    if folder {
        return fs::create_dir_all(path);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::File::create_new(path).map(drop)
}

/// Changes the root of all of the container's processes, of which there is only this one.
///
/// The new root is put over the old one, which nothing shows any more, also not to a process that
/// steps out of a root of its own. `pivot_root` would let go of it, but container runtimes forbid
/// that call.
fn enter(rootfs: &Path) -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    let how = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let root = open_tree(CWD, rootfs, how)?;
    move_mount(&root, "", CWD, "/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    rustix::process::fchdir(&root)?;
    rustix::process::chroot(".")?;
    rustix::process::chdir("/")?;
    Ok(())
}
