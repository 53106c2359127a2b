//! The hub's socket in the file system, or that of an agent, which leads there.

use std::{
    fs, io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, PermissionsExt},
    },
    path::Path,
};

use tokio::net::UnixListener;

/// Binds it, with the folder around it. Whoever can walk there may connect: what they may do, their
/// claim decides.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // The kernel takes 108 bytes of path at most, and data folders lie deep.
    let folder = fs::File::open(folder)?;
    let short = Path::new("/proc/self/fd")
        .join(folder.as_raw_fd().to_string())
        .join(name);
    let listener = UnixListener::bind(short)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}
