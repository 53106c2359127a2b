//! Landlock: limits the files, signals, traces and connections of the process.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::SandboxReach;

/// Programs, libraries and data of the system.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// The system's configuration that any program may know.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssh/ssh_config",
    "/etc/ssh/ssh_config.d",
    "/etc/ssh/ssh_known_hosts",
    "/etc/ssl",
];

/// Variables that say where certificates are.
const CERTIFICATES: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR"];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The newest rules that are known here; older kernels apply those that they know.
const NEWEST: ABI = ABI::V6;

/// Returns true if the kernel can close files to a process by Landlock.
pub fn has_landlock() -> bool {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1));
    ruleset.and_then(Ruleset::create).is_ok()
}

/// Returns true if the kernel can keep a process from signalling those outside of its own rules.
/// One that can close files alone does not.
pub(crate) fn scopes_signals() -> bool {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| ruleset.scope(Scope::Signal));
    ruleset.and_then(Ruleset::create).is_ok()
}

/// Closes all files but those within reach and below the working folder. Returns true if the
/// kernel closes files; whether it scopes signals too is another fact ([`scopes_signals`]).
pub(crate) fn close(reach: SandboxReach) -> Result<bool, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let ruleset = Ruleset::default()
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?;
    // The process accepts no connections. One with a reach connects to servers: that is its work.
    let ruleset = match reach {
        SandboxReach::System => ruleset.handle_access(AccessNet::BindTcp)?,
        SandboxReach::Folder => ruleset.handle_access(AccessNet::from_all(NEWEST))?,
    };
    let mut ruleset = ruleset.create()?;
    if reach == SandboxReach::System {
        let readable = AccessFs::from_read(NEWEST);
        let certificates = CERTIFICATES.iter().filter_map(std::env::var_os);
        ruleset = ruleset
            .add_rules(path_beneath_rules(SYSTEM, readable))?
            .add_rules(path_beneath_rules(SETTINGS, readable))?
            .add_rules(path_beneath_rules(certificates, readable))?
            .add_rules(path_beneath_rules(
                DEVICES,
                AccessFs::ReadFile | AccessFs::WriteFile,
            ))?;
    }
    let status = ruleset
        .add_rules(path_beneath_rules(["."], all))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}
