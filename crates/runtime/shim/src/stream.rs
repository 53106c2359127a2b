//! Our end of a pipe or terminal.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use crate::terminal;

pub(crate) struct Stream {
    fd: AsyncFd<OwnedFd>,
    is_terminal: bool,
}

impl Stream {
    pub(crate) fn pipe(fd: OwnedFd) -> io::Result<Self> {
        Self::new(fd, false)
    }

    pub(crate) fn terminal(fd: OwnedFd) -> io::Result<Self> {
        Self::new(fd, true)
    }

    fn new(fd: OwnedFd, is_terminal: bool) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        // SAFETY: `OwnedFd` owns a valid descriptor, and nothing replaces or closes it before the
        // registration goes.
        let registered = unsafe { AsyncFd::register(fd) };
        Ok(Self {
            fd: registered?,
            is_terminal,
        })
    }

    /// Reads bytes, as many as there are until the buffer is full, since a terminal gives only a
    /// few kilobytes at a time. Returns their number; 0 at the end.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = if self.is_terminal {
            read_lines
        } else {
            read_what_is_there
        };
        loop {
            let mut ready = self.fd.readable().await?;
            match ready.try_io(|fd| read(fd.get_ref(), buffer)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }

    pub(crate) async fn write_all(&self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let mut ready = self.fd.writable().await?;
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
            // A terminal says so once no process has its other end open.
            Ok(0) | Err(Errno::IO) => break,
            Ok(read) => filled += read,
            Err(_) if filled > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

/// Reads from a terminal, with lines ended as on one. Into the far half of the buffer, so that
/// there is room for what is added.
fn read_lines(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let half = buffer.len() / 2;
    let read = read_what_is_there(fd, &mut buffer[half..half * 2])?;
    if terminal::ends_lines(fd) {
        buffer.copy_within(half..half + read, 0);
        return Ok(read);
    }
    Ok(end_lines(buffer, half, read))
}

/// Moves `read` bytes from `from` to the front, puts a carriage return before each line feed, and
/// returns their number then. Writing never overtakes reading, as long as `read` is at most `from`.
fn end_lines(buffer: &mut [u8], from: usize, read: usize) -> usize {
    let (mut written, mut next, end) = (0, from, from + read);
    while next < end {
        let line = memchr::memchr(b'\n', &buffer[next..end]);
        let length = line.unwrap_or(end - next);
        buffer.copy_within(next..next + length, written);
        written += length;
        next += length;
        if line.is_some() {
            buffer[written..written + 2].copy_from_slice(b"\r\n");
            written += 2;
            next += 1;
        }
    }
    written
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.get_ref().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::end_lines;

    #[test]
    fn lines_end_as_on_a_terminal() {
        for (given, expected) in [
            ("", ""),
            ("a", "a"),
            ("\n", "\r\n"),
            ("a\nb", "a\r\nb"),
            ("a\r\n", "a\r\r\n"),
            ("\n\n\n\n", "\r\n\r\n\r\n\r\n"),
        ] {
            let half = 4;
            let mut buffer = vec![0; half];
            buffer.extend(given.bytes());
            let length = end_lines(&mut buffer, half, given.len());
            assert_eq!(&buffer[..length], expected.as_bytes(), "{given:?}");
        }
    }
}
