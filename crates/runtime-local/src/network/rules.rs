//! The machine's rules for all steps of an installation, as one table that is its own: nothing of
//! anybody else's is changed, and it goes as a whole.

use std::{
    io::{self, Write},
    process::{Command, Stdio},
};

use airside_model::InstallationId;

use super::{HostAccess, PREFIX, Pool};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the program `nft` (package nftables) cannot be run: {0}")]
    Program(io::Error),
    #[error("nft refuses the rules: {0}")]
    Refused(String),
}

pub(super) fn install(
    installation: &InstallationId,
    pool: Pool,
    host: HostAccess,
) -> Result<(), Error> {
    run(&text(&table(installation), pool, host))
}

pub(super) fn remove(installation: &InstallationId) {
    let table = table(installation);
    // Declared first, since deleting what is not there is refused.
    if let Err(error) = run(&format!("table ip {table}\ndelete table ip {table}\n")) {
        tracing::debug!(%error, "cannot remove the network's rules");
    }
}

fn table(installation: &InstallationId) -> String {
    let plain: String = installation
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("airside_{plain}")
}

/// Steps reach the outside and nobody reaches them: neither each other, nor from outside, nor (unless
/// that is allowed) the machine.
fn text(table: &str, pool: Pool, host: HostAccess) -> String {
    let ours = format!("\"{PREFIX}*\"");
    let input = match host {
        HostAccess::Allowed => String::new(),
        HostAccess::Denied => format!(
            "  chain input {{\n    type filter hook input priority filter; policy accept;\n    \
             iifname {ours} ct state established,related accept\n    \
             iifname {ours} icmp type echo-request accept\n    iifname {ours} drop\n  }}\n"
        ),
    };
    format!(
        "table ip {table}\ndelete table ip {table}\ntable ip {table} {{\n{input}  \
         chain forward {{\n    type filter hook forward priority filter; policy accept;\n    \
         iifname {ours} oifname {ours} drop\n    \
         oifname {ours} ct state established,related accept\n    oifname {ours} drop\n  }}\n  \
         chain postrouting {{\n    type nat hook postrouting priority srcnat; policy accept;\n    \
         ip saddr {pool} oifname != {ours} masquerade\n  }}\n}}\n"
    )
}

fn run(rules: &str) -> Result<(), Error> {
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::Program)?;
    let mut stdin = nft.stdin.take().expect("it was asked for");
    let written = stdin.write_all(rules.as_bytes());
    drop(stdin);
    let output = nft.wait_with_output().map_err(Error::Program)?;
    if output.status.success() {
        return written.map_err(Error::Program);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::Refused(said.trim().replace('\n', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_closed_unless_allowed() {
        let pool = "10.80.0.0/16".parse().unwrap();
        let denied = text("t", pool, HostAccess::Denied);
        assert!(denied.contains("iifname \"airside*\" drop"), "{denied}");
        assert!(denied.contains("ip saddr 10.80.0.0/16 oifname != \"airside*\" masquerade"));
        assert!(!text("t", pool, HostAccess::Allowed).contains("hook input"));
    }

    #[test]
    fn a_table_is_named_after_its_installation() {
        assert_eq!(table(&InstallationId::new("a-b.c")), "airside_a_b_c");
    }
}
