//! Mounts that translate the ids on disk (a container's own) to those that its users are outside.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
    ptr,
};

use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use crate::ids::IdRange;

/// A translation of ids, held as a user namespace without processes.
pub(crate) struct IdMap(OwnedFd);

impl IdMap {
    /// Makes the map; only in a process with one thread, since it forks.
    pub(crate) fn new(ids: IdRange) -> io::Result<Self> {
        let (mut told, tell) = io::pipe()?;
        let (wait, mut go) = io::pipe()?;
        // SAFETY: this process has one thread, and the child makes nothing but system calls on what
        // exists before it ends.
        let child = unsafe { libc::fork() };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        if child == 0 {
            // SAFETY: as above; `_exit` leaves the parent's buffers alone.
            unsafe { live_in_namespace(tell.as_raw_fd(), wait.as_raw_fd()) };
        }
        drop((tell, wait));
        let made = translate(child, ids, &mut told);
        // Done or not, the child may go.
        let _ = go.write_all(&[0]);
        drop(go);
        let mut status = 0;
        // SAFETY: the child is ours, and no other thread waits for it.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        made
    }

    /// Returns the tree at `path`, translated: a mount that is nowhere yet.
    pub(crate) fn view(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let tree = open_tree(rustix::fs::CWD, path, flags)?;
        self.apply(tree.as_fd())?;
        Ok(tree)
    }

    fn apply(&self, tree: BorrowedFd<'_>) -> io::Result<()> {
        let attributes = libc::mount_attr {
            attr_set: libc::MOUNT_ATTR_IDMAP,
            attr_clr: 0,
            propagation: 0,
            userns_fd: self.0.as_raw_fd() as u64,
        };
        // SAFETY: the kernel reads the attributes and the empty path, which live until then.
        let set = unsafe {
            libc::syscall(
                libc::SYS_mount_setattr,
                tree.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_EMPTY_PATH,
                &raw const attributes,
                size_of::<libc::mount_attr>(),
            )
        };
        match set {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Puts a mount that is nowhere yet over a folder.
pub(crate) fn attach(tree: &OwnedFd, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}

/// The child: makes the namespace, says so, and stays until it was opened.
///
/// # Safety
/// Only right after a fork, with two descriptors that are open.
unsafe fn live_in_namespace(tell: i32, wait: i32) -> ! {
    // SAFETY: only system calls, on a byte of our own.
    unsafe {
        let mut byte = u8::from(libc::unshare(libc::CLONE_NEWUSER) == 0);
        libc::write(tell, ptr::from_ref(&byte).cast(), 1);
        libc::read(wait, ptr::from_mut(&mut byte).cast(), 1);
        libc::_exit(0)
    }
}

fn translate(child: i32, ids: IdRange, told: &mut impl Read) -> io::Result<IdMap> {
    let mut byte = [0];
    told.read_exact(&mut byte)?;
    if byte != [1] {
        return Err(io::Error::other("the kernel makes no user namespace"));
    }
    let proc = Path::new("/proc").join(child.to_string());
    fs::write(proc.join("uid_map"), ids.map())?;
    fs::write(proc.join("gid_map"), ids.map())?;
    Ok(IdMap(File::open(proc.join("ns/user"))?.into()))
}

/// Checks that the file system at `folder` can be shown with other ids.
pub(crate) fn is_possible(folder: &Path, ids: IdRange) -> io::Result<()> {
    IdMap::new(ids)?.view(folder).map(drop)
}

/// A guard: until it is dropped, files are made as another user, with the helper's rights.
pub(crate) struct Acting;

impl Acting {
    pub(crate) fn as_root_of(ids: Option<IdRange>) -> io::Result<Self> {
        let first = ids.map_or(0, IdRange::first);
        act_as(first)?;
        Ok(Self)
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        // Becoming oneself again needs no rights.
        let _ = act_as(0);
    }
}

fn act_as(id: u32) -> io::Result<()> {
    let before = rustix::thread::capabilities(None)?;
    // SAFETY: these change how this thread appears to file systems, and no memory.
    unsafe {
        libc::setfsgid(id);
        libc::setfsuid(id);
    }
    // The change took the rights over files away.
    let restored = rustix::thread::CapabilitySets {
        effective: before.permitted,
        ..before
    };
    Ok(rustix::thread::set_capabilities(None, restored)?)
}
