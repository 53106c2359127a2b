//! The machine's rules for all steps of an installation, as one table that is its own: rules of
//! others are not changed, and it goes as a whole.

use std::{
    io::{self, Write},
    process::{Command, Stdio},
};

use airside_model::{InstallationId, chain};

use super::{Group, HostAccess, MetadataAccess, Pool};

/// The addresses at which clouds serve a machine's credentials to any program on it.
const LINK_LOCAL: &str = "169.254.0.0/16";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the program `nft` (package nftables) cannot be run: {0}")]
    Program(io::Error),
    #[error("nft refuses the rules: {0}")]
    Refused(String),
}

/// The rules of one installation, which say nothing about the interfaces of any other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub group: Group,
    pub pool: Pool,
    pub host: HostAccess,
    pub metadata: MetadataAccess,
}

pub(super) fn install(installation: &InstallationId, rules: Rules) -> Result<(), Error> {
    run(&rules.text(&table(installation)))
}

pub(super) fn remove(installation: &InstallationId) {
    if let Err(error) = run(&removal(&table(installation))) {
        tracing::debug!(error = %chain(&error), "rules of the network not removed");
    }
}

/// Returns the version of `nft`, if it can read the machine's rules.
pub(super) fn program() -> Result<String, Error> {
    let run = |arguments: &[&str]| {
        let mut nft = Command::new("nft");
        nft.args(arguments).stdin(Stdio::null());
        nft.output().map_err(Error::Program)
    };
    let listed = run(&["list", "tables"])?;
    if !listed.status.success() {
        let words = String::from_utf8_lossy(&listed.stderr);
        return Err(Error::Refused(words.trim().to_owned()));
    }
    let version = run(&["--version"])?.stdout;
    Ok(String::from_utf8_lossy(&version).trim().to_owned())
}

/// True if the machine has rules of this installation.
pub(super) fn exist(installation: &InstallationId) -> bool {
    let table = table(installation);
    let listed = |family| {
        let mut nft = Command::new("nft");
        nft.args(["list", "table", family, &table]);
        nft.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        nft.status().is_ok_and(|status| status.success())
    };
    ["inet", "ip"].into_iter().any(listed)
}

/// Returns the commands that declare a table and delete it, since deleting a table that is not
/// there is refused. Earlier versions had a table for IPv4 alone.
fn removal(table: &str) -> String {
    ["ip", "inet"]
        .map(|family| format!("table {family} {table}\ndelete table {family} {table}\n"))
        .concat()
}

fn table(installation: &InstallationId) -> String {
    let plain: String = installation
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("airside_{plain}")
}

impl Rules {
    /// Returns the rules: steps reach the outside and are not reached: neither by each other, nor
    /// from outside, nor (unless that is allowed) by the machine. No IPv6 passes.
    fn text(&self, table: &str) -> String {
        let (steps, to_steps) = (
            format!("iifgroup {}", self.group),
            format!("oifgroup {}", self.group),
        );
        let mut text = removal(table) + &format!("add table inet {table}\n");
        let mut chain = |head: &str, rules: &[String]| {
            text.push_str(&format!(
                "add chain inet {table} {head}; policy accept; }}\n"
            ));
            let name = head.split(' ').next().unwrap_or_default();
            for rule in rules {
                text.push_str(&format!("add rule inet {table} {name} {rule}\n"));
            }
        };
        // Ahead of rules of others for such an address. Name servers may have one.
        if self.metadata == MetadataAccess::Denied {
            let far = format!("{steps} ip daddr {LINK_LOCAL}");
            chain(
                "metadata { type filter hook prerouting priority raw",
                &[
                    format!("{far} udp dport 53 accept"),
                    format!("{far} tcp dport 53 accept"),
                    format!("{far} drop"),
                ],
            );
        }
        if self.host == HostAccess::Denied {
            chain(
                "input { type filter hook input priority filter",
                &[
                    format!("{steps} ct state established,related accept"),
                    format!("{steps} icmp type echo-request accept"),
                    format!("{steps} drop"),
                ],
            );
        }
        chain(
            "forward { type filter hook forward priority filter",
            &[
                format!("{steps} meta nfproto ipv6 drop"),
                format!("{steps} {to_steps} drop"),
                format!("{to_steps} ct state established,related accept"),
                format!("{to_steps} drop"),
            ],
        );
        chain(
            "postrouting { type nat hook postrouting priority srcnat",
            &[format!("{steps} ip saddr {} masquerade", self.pool)],
        );
        text
    }
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

    fn rules(host: HostAccess, metadata: MetadataAccess) -> String {
        let rules = Rules {
            group: Group::of(&InstallationId::new("one")),
            pool: "10.80.0.0/16".parse().unwrap(),
            host,
            metadata,
        };
        rules.text("t")
    }

    #[test]
    fn the_machine_and_its_cloud_are_closed_unless_allowed() {
        let closed = rules(HostAccess::Denied, MetadataAccess::Denied);
        let group = Group::of(&InstallationId::new("one"));
        assert!(
            closed.contains(&format!("t input iifgroup {group} drop")),
            "{closed}"
        );
        assert!(closed.contains("ip daddr 169.254.0.0/16 drop"), "{closed}");
        let open = rules(HostAccess::Allowed, MetadataAccess::Allowed);
        assert!(!open.contains("hook input") && !open.contains("169.254"));
        assert!(open.contains("ip saddr 10.80.0.0/16 masquerade"));
    }

    #[test]
    fn every_rule_is_about_the_own_interfaces() {
        let text = rules(HostAccess::Denied, MetadataAccess::Denied);
        let group = Group::of(&InstallationId::new("one")).to_string();
        let other = Group::of(&InstallationId::new("other")).to_string();
        assert_ne!(group, other);
        for rule in text.lines().filter(|line| line.starts_with("add rule")) {
            assert!(rule.contains(&format!("ifgroup {group}")), "{rule}");
        }
    }

    #[test]
    fn a_table_is_named_after_its_installation() {
        assert_eq!(table(&InstallationId::new("a-b.c")), "airside_a_b_c");
    }
}
