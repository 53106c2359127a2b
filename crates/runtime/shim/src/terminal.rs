//! A terminal for the process: we hold one end, it sees the other as its controlling terminal.
//!
//! The kernel would put a carriage return before each line feed, and takes longer for that than for
//! everything else it does with a long output. So it is set not to, and the reader of our end does
//! it ([`ends_lines`]). A process that asks its terminal to do it, or to leave all output as it is,
//! gets what it asks for.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use airside_protocol::Tty;
use rustix::{
    pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize},
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
    let mut modes = tcgetattr(&inner)?;
    modes.output_modes -= OutputModes::ONLCR;
    tcsetattr(&inner, OptionalActions::Now, &modes)?;
    Ok(Terminal { outer, inner })
}

/// Returns true if the output of our end has its lines ended as the process wants them; otherwise
/// it is as [`open`] left it, and they are ours to end.
pub(crate) fn ends_lines(outer: impl AsFd) -> bool {
    tcgetattr(outer).is_ok_and(|modes| {
        let modes = modes.output_modes;
        !modes.contains(OutputModes::OPOST) || modes.contains(OutputModes::ONLCR)
    })
}

/// Gives the terminal another size; the kernel notifies the processes in it.
pub(crate) fn resize(outer: impl AsFd, size: Tty) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(outer, size)?)
}
