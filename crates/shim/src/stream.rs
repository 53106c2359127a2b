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

    /// The number of bytes read; none at the end. What is there is read until the buffer is full, as a terminal gives
    /// only a few kilobytes at a time.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            match ready.try_io(|fd| read_what_is_there(fd.get_ref(), buffer)) {
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

/// An end or an error that comes after some bytes comes again with the next read.
fn read_what_is_there(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::io::read(fd, &mut buffer[filled..]) {
            // A terminal says so once nobody has its other end open.
            Ok(0) | Err(Errno::IO) => break,
            Ok(read) => filled += read,
            Err(_) if filled > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}
