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
        ("resolv.conf", machine("/etc/resolv.conf")),
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

/// For a root file system without an image.
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
