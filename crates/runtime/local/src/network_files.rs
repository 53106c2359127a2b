//! The few files in `/etc` that say who and where the container is.

use std::{fs, path::Path};

use airside_model::Handle;

use crate::Error;

/// Copies rather than mounts: cheaper, and a step may change them for itself.
pub(crate) fn write(etc: &Path, handle: &Handle) -> Result<(), Error> {
    fs::create_dir_all(etc).map_err(Error::disk(etc))?;
    let machine = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let hosts = machine("/etc/hosts");
    let hosts = if hosts.is_empty() {
        "127.0.0.1 localhost\n".to_owned()
    } else {
        hosts
    };
    for (name, text) in [
        ("resolv.conf", resolvers()),
        (
            "hosts",
            format!("{}\n127.0.0.1 {handle}\n", hosts.trim_end()),
        ),
        ("hostname", format!("{handle}\n")),
    ] {
        let path = etc.join(name);
        fs::write(&path, text).map_err(Error::disk(&path))?;
    }
    Ok(())
}

/// Returns the machine's name servers, as seen from another network: a resolver on loopback is the
/// machine's alone, and passes on to those that systemd lists.
fn resolvers() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let own = read("/etc/resolv.conf");
    if own.lines().any(is_local_resolver) {
        let upstream = read("/run/systemd/resolve/resolv.conf");
        if !upstream.is_empty() {
            return upstream;
        }
    }
    own
}

fn is_local_resolver(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("nameserver")
        && words
            .next()
            .and_then(|address| address.parse::<std::net::IpAddr>().ok())
            .is_some_and(|address| address.is_loopback())
}

/// Writes a substitute for the machine's passwords, which no step needs: its accounts, all locked.
/// Root may use `sudo`, as scripts do.
pub(crate) fn write_accounts(etc: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    let machine = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let shadow: String = machine
        .lines()
        .filter_map(|line| line.split(':').next())
        .map(|name| format!("{name}:*:19000:0:99999:7:::\n"))
        .collect();
    for (name, mode, text) in [
        ("shadow", 0o640, shadow),
        (
            "sudoers",
            0o440,
            "root ALL=(ALL:ALL) NOPASSWD: ALL\n".to_owned(),
        ),
    ] {
        let path = etc.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(Error::disk(&path))?;
    }
    Ok(())
}

/// Writes users for a root file system without an image.
pub(crate) fn write_users(etc: &Path) -> Result<(), Error> {
    for (name, text) in [
        ("passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("group", "root:x:0:\n"),
    ] {
        let path = etc.join(name);
        fs::write(&path, text).map_err(Error::disk(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolvers_on_loopback_are_known() {
        for (line, local) in [
            ("nameserver 127.0.0.53", true),
            ("nameserver ::1", true),
            ("nameserver 192.0.2.1", false),
            ("# nameserver 127.0.0.1", false),
            ("search example.org", false),
        ] {
            assert_eq!(is_local_resolver(line), local, "{line}");
        }
    }
}
