//! Processes that the kernel killed because the container ran out of memory.
//!
//! Read from the container's own control group, which both runtimes show it. Where it cannot be
//! read, nothing is reported.

use std::{fs, path::Path};

const GROUPS: &str = "/sys/fs/cgroup";

/// Returns the number of such kills by now.
pub(crate) fn kills() -> u64 {
    kills_in(Path::new(GROUPS))
}

/// Returns the message for the build's readers, if there were more kills since.
pub(crate) fn words_since(before: u64) -> Option<String> {
    let killed = kills().saturating_sub(before);
    (killed > 0).then(|| words(killed, limit_in(Path::new(GROUPS))))
}

fn words(killed: u64, limit: Option<u64>) -> String {
    let who = match killed {
        1 => "a process was".to_owned(),
        many => format!("{many} processes were"),
    };
    let limit = limit.map_or_else(String::new, |bytes| {
        format!(": the step's limit is {bytes} bytes (container_limits.memory)")
    });
    format!("out of memory: {who} killed{limit}\n")
}

fn kills_in(groups: &Path) -> u64 {
    // Version 2, then version 1.
    ["memory.events", "memory/memory.oom_control"]
        .iter()
        .filter_map(|name| fs::read_to_string(groups.join(name)).ok())
        .find_map(|text| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
        })
        .unwrap_or(0)
}

fn limit_in(groups: &Path) -> Option<u64> {
    let text = ["memory.max", "memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|name| fs::read_to_string(groups.join(name)).ok())?;
    // Without a limit: a word, or a number that no machine has.
    text.trim().parse().ok().filter(|bytes| *bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_read() {
        let groups = tempfile::tempdir().unwrap();
        assert_eq!(
            (kills_in(groups.path()), limit_in(groups.path())),
            (0, None)
        );
        fs::create_dir(groups.path().join("memory")).unwrap();
        let write = |name: &str, text: &str| fs::write(groups.path().join(name), text).unwrap();
        write(
            "memory/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        );
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(
            (kills_in(groups.path()), limit_in(groups.path())),
            (3, None)
        );
        write(
            "memory.events",
            "low 0\noom 7\noom_kill 1\noom_group_kill 0\n",
        );
        write("memory.max", "67108864\n");
        assert_eq!(
            (kills_in(groups.path()), limit_in(groups.path())),
            (1, Some(67_108_864))
        );
    }

    #[test]
    fn the_words_name_the_limit() {
        assert_eq!(
            words(1, Some(1024)),
            "out of memory: a process was killed: the step's limit is 1024 bytes \
             (container_limits.memory)\n"
        );
        assert_eq!(words(2, None), "out of memory: 2 processes were killed\n");
    }
}
