//! The capabilities that a process may ever have.

use std::{fmt, io};

use rustix::thread::{CapabilitySet, CapabilitySets};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u64);

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl Capabilities {
    /// No capability at all.
    pub const NONE: Self = Self(0);

    /// Capabilities of an unprivileged step that runs as root: those that Concourse gives it, and
    /// container runtimes by default.
    pub const UNPRIVILEGED: Self = Self(0xA804_25FB);

    /// Capabilities to write files of any owner, to give them away and to set their modes: `CHOWN`,
    /// `DAC_OVERRIDE`, `FOWNER`, `FSETID`.
    pub const FILE_OWNERS: Self = Self(0x1B);

    /// [`Self::FILE_OWNERS`], and to change ids of the process: `SETGID`, `SETUID`.
    pub const FILE_OWNERS_AND_IDS: Self = Self(0xDB);

    /// A set as the kernel prints it: hexadecimal.
    pub fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }

    /// Takes all others out of reach, also of programs that run as root by a bit in the file
    /// system.
    pub fn bound(self) -> io::Result<()> {
        // SAFETY: these calls read and write no memory of ours.
        unsafe {
            libc::prctl(
                libc::PR_CAP_AMBIENT,
                libc::PR_CAP_AMBIENT_CLEAR_ALL,
                0,
                0,
                0,
            )
        };
        for number in (0..u64::BITS).filter(|number| self.0 & (1 << number) == 0) {
            // SAFETY: as above.
            if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) } == 0 {
                continue;
            }
            let error = io::Error::last_os_error();
            // Past the last one that this kernel knows.
            if error.raw_os_error() == Some(libc::EINVAL) {
                break;
            }
            return Err(error);
        }
        Ok(())
    }

    /// Makes these the only ones that the process has and uses, as far as it may have them.
    pub fn hold_only(self) -> io::Result<()> {
        let kept = CapabilitySet::from_bits_retain(self.0);
        let now = rustix::thread::capabilities(None)?;
        rustix::thread::set_capabilities(
            None,
            CapabilitySets {
                effective: now.permitted & kept,
                permitted: now.permitted & kept,
                inheritable: CapabilitySet::empty(),
            },
        )?;
        Ok(())
    }

    /// Gives up those that the process still has. A user other than root has none by now.
    pub fn give_up_others(self) -> io::Result<()> {
        let kept = CapabilitySet::from_bits_retain(self.0);
        let now = rustix::thread::capabilities(None)?;
        rustix::thread::set_capabilities(
            None,
            CapabilitySets {
                effective: now.effective & kept,
                permitted: now.permitted & kept,
                inheritable: CapabilitySet::empty(),
            },
        )?;
        Ok(())
    }
}
