//! A process that is not mistaken for another that later got its number.

use std::{fs, io, os::fd::OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    ioctl::{Opcode, Updater, opcode},
    process::{Pid, PidfdFlags, Signal},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub pid: i32,
    /// Ticks after the machine's start.
    started: u64,
    /// Numbers and ticks begin anew with each start of the machine.
    boot: String,
}

impl Process {
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        let (_, started) = stat(pid)?;
        Ok(Self {
            pid,
            started,
            boot: boot()?,
        })
    }

    /// A descriptor of the process while it lives: readable once it has ended.
    pub(crate) fn open(&self) -> Option<OwnedFd> {
        let pid = Pid::from_raw(self.pid)?;
        let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Looked at after opening: now the number cannot change hands any more.
        let (state, started) = stat(self.pid).ok()?;
        let same = started == self.started && boot().is_ok_and(|boot| boot == self.boot);
        (same && !matches!(state, 'Z' | 'X')).then_some(fd)
    }

    /// The status of the process if it has ended and its parent has not waited for it.
    fn zombie_status(&self) -> Option<i32> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        let (state, started) = parse_stat(&text)?;
        let is_zombie = started == self.started && matches!(state, 'Z' | 'X');
        let status = text.split_ascii_whitespace().next_back()?.parse().ok();
        status.filter(|_| is_zombie)
    }
}

/// The exit of a process whose parent is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessExit {
    Code(i32),
    Signal(i32),
}

impl ProcessExit {
    /// Reads the status that `wait` gives to a parent.
    fn of_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Code((status >> 8) & 0xff),
            signal => Self::Signal(signal),
        }
    }
}

/// The first version of the kernel's `struct pidfd_info`.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// Asks for the exit, which the kernel has for a process that its parent has waited for.
const PIDFD_INFO_EXIT: u64 = 1 << 3;
const PIDFD_GET_INFO: Opcode = opcode::read_write::<PidfdInfo>(0xff, 11);

/// Returns the exit of a process that has ended, as far as the kernel tells it: before Linux 6.15
/// the kernel tells it only until the parent has waited for the process.
pub(crate) fn exit(process: &Process, fd: &OwnedFd) -> Option<ProcessExit> {
    // In this order: once its line is gone, the kernel has the exit for the descriptor.
    let status = process.zombie_status().or_else(|| reaped_status(fd))?;
    Some(ProcessExit::of_status(status))
}

fn reaped_status(fd: &OwnedFd) -> Option<i32> {
    let mut info = PidfdInfo {
        mask: PIDFD_INFO_EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the request's number holds the size of what the kernel fills in.
    let asked = unsafe {
        let request = Updater::<PIDFD_GET_INFO, PidfdInfo>::new(&mut info);
        rustix::ioctl::ioctl(fd, request)
    };
    (asked.is_ok() && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit_code)
}

pub(crate) fn kill(fd: &OwnedFd) {
    // The only failure is that it is gone.
    let _ = rustix::process::pidfd_send_signal(fd, Signal::KILL);
}

/// Returns true if the process ended within the time.
pub(crate) fn ended(fd: &OwnedFd, seconds: i64) -> bool {
    let limit = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    loop {
        match rustix::event::poll(&mut fds, Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.is_ok_and(|ready| ready > 0),
        }
    }
}

fn stat(pid: i32) -> io::Result<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    parse_stat(&text).ok_or_else(|| io::Error::other("cannot read the process's state"))
}

/// State and start time. The command's name comes before them and may hold anything.
fn parse_stat(text: &str) -> Option<(char, u64)> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_command_names_do_not_confuse() {
        let text = "7 (a) S) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21";
        assert_eq!(parse_stat(text), Some(('R', 4242)));
        assert_eq!(parse_stat("7 (x"), None);
    }

    #[test]
    fn only_the_same_process_is_opened() {
        let own = Process::of(std::process::id() as i32).unwrap();
        assert!(own.open().is_some());
        assert!(
            Process {
                started: own.started + 1,
                ..own.clone()
            }
            .open()
            .is_none()
        );
        assert!(
            Process {
                boot: "another".to_owned(),
                ..own
            }
            .open()
            .is_none()
        );
    }

    #[test]
    fn an_ended_process_is_noticed() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let process = Process::of(child.id() as i32).unwrap();
        let fd = process.open().unwrap();
        assert!(!ended(&fd, 0));
        kill(&fd);
        assert!(ended(&fd, 10));
        assert!(process.open().is_none(), "a zombie does not live");
        assert_eq!(exit(&process, &fd), Some(ProcessExit::Signal(9)));
        child.wait().unwrap();
        // Kernels before 6.15 have forgotten it.
        let exit = exit(&process, &fd);
        assert!(
            matches!(exit, None | Some(ProcessExit::Signal(9))),
            "{exit:?}"
        );
    }

    #[test]
    fn statuses_are_codes_or_signals() {
        assert_eq!(ProcessExit::of_status(0), ProcessExit::Code(0));
        assert_eq!(ProcessExit::of_status(3 << 8), ProcessExit::Code(3));
        assert_eq!(ProcessExit::of_status(9), ProcessExit::Signal(9));
        assert_eq!(ProcessExit::of_status(0x80 | 11), ProcessExit::Signal(11));
    }
}
