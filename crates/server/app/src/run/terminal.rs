//! The terminal of the person who runs a pipeline: lines that are typed, and raw bytes for a shell.

use std::{
    io::{self, IsTerminal as _},
    os::fd::OwnedFd,
};

use airside_protocol::Tty;
use rustix::{
    fs::{Mode, OFlags},
    termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr},
};
use tokio::io::unix::AsyncFd;

/// Bytes of a line that is typed; the rest of a longer one is dropped.
const MAX_LINE_BYTES: usize = 4096;

/// Returns true if a person can type and see.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub(crate) struct Terminal {
    fd: AsyncFd<OwnedFd>,
}

impl Terminal {
    /// Opens the terminal of standard input anew: reads that do not block are not for the programs
    /// that have the old descriptor too.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::open("/proc/self/fd/0", flags, Mode::empty())?;
        // SAFETY: the descriptor stays open and the same for as long as it is registered: `Self`
        // owns it alone and never hands it out.
        #[expect(unsafe_code, reason = "tokio cannot know that the descriptor stays")]
        let registered = unsafe { AsyncFd::register(fd) };
        Ok(Self {
            fd: registered.map_err(io::Error::from)?,
        })
    }

    /// Reads what is typed. No bytes mean that the terminal is gone.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.readable().await?;
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut *buffer)?));
            match read {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) => return read,
                Err(_) => {}
            }
        }
    }

    /// Reads a line, without its end.
    pub(crate) async fn line(&self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let mut buffer = [0; 256];
        loop {
            let count = self.read(&mut buffer).await?;
            if count == 0 {
                return Ok(None);
            }
            line.extend_from_slice(&buffer[..count]);
            if line.ends_with(b"\n") {
                return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()));
            }
            line.truncate(MAX_LINE_BYTES);
        }
    }

    pub(crate) fn size(&self) -> Tty {
        let size = tcgetwinsize(self.fd.get_ref()).ok();
        match size.filter(|size| size.ws_col > 0 && size.ws_row > 0) {
            Some(size) => Tty {
                columns: size.ws_col,
                rows: size.ws_row,
            },
            None => Tty {
                columns: 80,
                rows: 24,
            },
        }
    }

    /// Passes every key on as it is, Ctrl-C too, until the returned value is dropped.
    pub(crate) fn raw(&self) -> io::Result<RawTerminal<'_>> {
        let before = tcgetattr(self.fd.get_ref())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(self.fd.get_ref(), OptionalActions::Drain, &raw)?;
        Ok(RawTerminal {
            terminal: self,
            before,
        })
    }
}

/// A terminal that gets its settings back when this is dropped.
pub(crate) struct RawTerminal<'a> {
    terminal: &'a Terminal,
    before: Termios,
}

impl Drop for RawTerminal<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(
            self.terminal.fd.get_ref(),
            OptionalActions::Drain,
            &self.before,
        );
    }
}
