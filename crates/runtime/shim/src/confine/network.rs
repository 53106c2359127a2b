//! A network that leads nowhere: a loopback interface, up, with the default route on it.
//!
//! Without the route a program would hear at once that the network is unreachable; with it packets
//! are sent and lost, which is what `hermetic` promises.

use std::{
    fs::File,
    io, mem,
    os::fd::{AsRawFd, OwnedFd},
    thread,
};

use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    thread::UnshareFlags,
};

/// Made in a thread of its own, which ends: the shim keeps the network that its hub is on.
pub(super) fn nowhere() -> io::Result<OwnedFd> {
    let made = thread::Builder::new().spawn(|| {
        // SAFETY: unsharing the network concerns this thread alone, and it holds no sockets.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        loopback_up(&socket)?;
        default_route(&socket)?;
        Ok(File::open("/proc/thread-self/ns/net")?.into())
    })?;
    made.join()
        .map_err(|_| io::Error::other("the thread that makes it has ended"))?
}

fn loopback_up(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: all of it may be zero.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as _, b'o' as _]);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
    // SAFETY: this request reads an `ifreq`.
    let set = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) };
    checked(set)
}

fn default_route(socket: &OwnedFd) -> io::Result<()> {
    let mut device = *b"lo\0";
    // SAFETY: all of it may be zero.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    // All addresses: nought, with a mask of nought.
    route.rt_dst.sa_family = libc::AF_INET as _;
    route.rt_genmask.sa_family = libc::AF_INET as _;
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = device.as_mut_ptr().cast();
    // SAFETY: this request reads an `rtentry` and the name it points to, which lives until then.
    let added = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &route) };
    checked(added)
}

fn checked(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
