//! The socket in the file system at which local steps reach the hub, or an agent that leads there.

use std::{
    fs, io,
    os::{
        fd::AsRawFd,
        unix::{
            fs::{DirBuilderExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::Path,
};

/// Binds the hub's socket, nonblocking, and makes the folder around it.
///
/// Every process that can walk to the socket may connect: its claim decides what it may do.
pub fn bind_hub_socket(path: &Path) -> io::Result<UnixListener> {
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
    listener.set_nonblocking(true)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}
