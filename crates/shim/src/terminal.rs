//! A terminal for the process: we hold one end, it sees the other as its controlling terminal.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use airside_protocol::Tty;
use rustix::{
    pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

pub(crate) struct Terminal {
    /// Ours.
    pub(crate) outer: OwnedFd,
    /// The process's.
    pub(crate) inner: OwnedFd,
}

pub(crate) fn open(size: Tty) -> io::Result<Terminal> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = openpt(flags)?;
    unlockpt(&outer)?;
    // Through the first end rather than by name: /dev/pts may be another one's.
    let inner = ioctl_tiocgptpeer(&outer, flags)?;
    resize(&outer, size)?;
    Ok(Terminal { outer, inner })
}

/// Gives the terminal another size; the kernel tells whoever runs in it.
pub(crate) fn resize(outer: impl AsFd, size: Tty) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(outer, size)?)
}
