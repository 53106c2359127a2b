//! Capabilities of steps.

use std::fs;

use crate::cgroup;

/// Capabilities by number, as the kernel counts them.
const ALL: [&str; 41] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
];

/// Capabilities of an unprivileged step's root: those that Concourse gives it, and no more.
const UNPRIVILEGED: [&str; 14] = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];

/// Everything that we may give away ourselves: a server in a container may lack some.
pub(crate) fn privileged() -> Vec<&'static str> {
    let ours = own().unwrap_or(u64::MAX);
    ALL.iter()
        .enumerate()
        .filter(|(number, _)| ours & (1 << number) != 0)
        .map(|(_, name)| *name)
        .collect()
}

pub(crate) fn unprivileged() -> Vec<&'static str> {
    let mut capabilities = privileged();
    capabilities.retain(|name| UNPRIVILEGED.contains(name));
    // Where nothing restricts opening devices, the right to make them is the right to the disk.
    if cgroup::is_unified() {
        capabilities.retain(|name| *name != "CAP_MKNOD");
    }
    capabilities
}

/// Returns the capabilities that the shim of an unprivileged step needs besides, to filter the
/// step's system calls and to take its network away. The step's own processes never have them.
pub(crate) fn shim() -> Vec<&'static str> {
    let step = unprivileged();
    let mut capabilities = privileged();
    capabilities
        .retain(|name| step.contains(name) || ["CAP_SYS_ADMIN", "CAP_NET_ADMIN"].contains(name));
    capabilities
}

/// Returns the kernel's bit mask of capabilities.
pub(crate) fn mask(capabilities: &[&str]) -> u64 {
    ALL.iter()
        .enumerate()
        .filter(|(_, name)| capabilities.contains(name))
        .fold(0, |mask, (number, _)| mask | 1 << number)
}

fn own() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapPrm:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete() {
        assert!(UNPRIVILEGED.iter().all(|name| ALL.contains(name)));
        assert_eq!(
            ALL.iter().position(|name| *name == "CAP_SYS_ADMIN"),
            Some(21)
        );
        assert_eq!(ALL.iter().position(|name| *name == "CAP_SETFCAP"), Some(31));
        assert_eq!(mask(&UNPRIVILEGED), 0xA804_25FB);
    }
}
