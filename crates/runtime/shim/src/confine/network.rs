//! A network that leads nowhere: a loopback interface, up, with the default route on it.
//!
//! Without the route a program would hear at once that the network is unreachable; with it packets
//! are sent and lost, which is what `hermetic` promises.

use std::{fs::File, io, os::fd::OwnedFd, thread};

use airside_confine::Interfaces;
use rustix::thread::UnshareFlags;

/// Made in a thread of its own, which ends: the shim keeps the network that its hub is on.
pub(super) fn nowhere() -> io::Result<OwnedFd> {
    let made = thread::Builder::new().spawn(|| {
        // SAFETY: unsharing the network concerns this thread alone, and it holds no sockets.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
        let interfaces = Interfaces::open()?;
        interfaces.set_up("lo")?;
        interfaces.add_default_route_into("lo")?;
        Ok(File::open("/proc/thread-self/ns/net")?.into())
    })?;
    made.join()
        .map_err(|_| io::Error::other("the thread that makes it has ended"))?
}
