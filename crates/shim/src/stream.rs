//! Our end of a pipe or terminal.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

pub(crate) struct Stream(AsyncFd<OwnedFd>);

impl Stream {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        // SAFETY: `OwnedFd` owns a valid descriptor, and nothing replaces or closes it before the
        // registration goes.
        let registered = unsafe { AsyncFd::register(fd) };
        Ok(Self(registered?))
    }

    /// The number of bytes read; none at the end.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            let result = ready.try_io(|fd| match rustix::io::read(fd, &mut *buffer) {
                // A terminal says so once nobody has its other end open.
                Err(Errno::IO) => Ok(0),
                other => Ok(other?),
            });
            match result {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }

    pub(crate) async fn write_all(&self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let mut ready = self.0.writable().await?;
            match ready.try_io(|fd| Ok(rustix::io::write(fd, data)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => data = &data[written?..],
                Err(_would_block) => {}
            }
        }
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}
