//! The privilege of the process that acts for a resource.

use std::fs;

/// The bit of `CAP_SYS_ADMIN` in a capability set.
const SYS_ADMIN: u64 = 1 << 21;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    Privileged,
    Unprivileged,
}

impl Privilege {
    /// Returns the privilege of this process: one that may mount file systems is privileged.
    pub fn of_this_process() -> Self {
        match fs::read_to_string("/proc/self/status") {
            Ok(status) if has_sys_admin(&status) => Self::Privileged,
            _ => Self::Unprivileged,
        }
    }
}

fn has_sys_admin(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set & SYS_ADMIN != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privilege_is_read_from_the_effective_set() {
        assert!(has_sys_admin(
            "Name:\tx\nCapPrm:\t0\nCapEff:\t000001ffffffffff\n"
        ));
        assert!(!has_sys_admin(
            "CapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\n"
        ));
        assert!(!has_sys_admin("Name:\tx\n"));
    }
}
