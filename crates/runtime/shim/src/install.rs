//! Copies this very program to where a step's container will find it, for clusters where it cannot
//! be mounted.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path, process::ExitCode};

use crate::log::log;

/// `install DESTINATION`.
pub(crate) fn install(args: &[String]) -> ExitCode {
    let [destination] = args else {
        log(format_args!("usage: airside-shim install DESTINATION"));
        return ExitCode::from(2);
    };
    match copy(Path::new("/proc/self/exe"), Path::new(destination)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(format_args!(
                "cannot copy the shim to {destination}: {error}"
            ));
            ExitCode::FAILURE
        }
    }
}

fn copy(program: &Path, destination: &Path) -> io::Result<()> {
    fs::copy(program, destination)?;
    fs::set_permissions(destination, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_whole_and_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "bytes").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "bytes");
        let mode = fs::metadata(&to).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert!(copy(&from, &folder.path().join("no/such")).is_err());
    }
}
