//! `airside-shim probe FILE`: writes down what containers on this machine have, before a step finds
//! out.
//!
//! The sender reads the file; on Kubernetes the kubelet shows it as the pod's termination message.

use std::{
    ffi::CString,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use airside_protocol::{Ids, Overlay, Probe, env};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::log::log;

/// The kernel's words for "all that there are".
const EVERY_ID: u64 = u32::MAX as u64;

pub(crate) fn probe(args: &[String]) -> ExitCode {
    let [file] = args else {
        log(format_args!("usage: airside-shim probe FILE"));
        return ExitCode::from(2);
    };
    let room = std::env::var_os(env::ROOT).map(PathBuf::from);
    let written = look(room.as_deref()).and_then(|found| {
        let text = serde_json::to_string(&found).map_err(io::Error::other)?;
        fs::write(file, text)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(format_args!(
                "cannot write down what this machine has: {error}"
            ));
            ExitCode::FAILURE
        }
    }
}

/// Mounts are tried only where the runtime has lent a folder, and with it the right to.
fn look(room: Option<&Path>) -> io::Result<Probe> {
    Ok(Probe {
        ids: ids(&fs::read_to_string("/proc/self/uid_map")?),
        overlay: match room.map(lay_over) {
            None => Overlay::Untried,
            Some(Ok(())) => Overlay::Works,
            Some(Err(error)) => Overlay::Refused(airside_model::chain(&error)),
        },
    })
}

/// Each line: the first id in here, the first outside, how many.
fn ids(map: &str) -> Ids {
    let lines = map.lines().filter_map(|line| {
        let numbers = line
            .split_whitespace()
            .map(|number| number.parse::<u64>().ok());
        <[u64; 3]>::try_from(numbers.collect::<Option<Vec<_>>>()?).ok()
    });
    let lines: Vec<[u64; 3]> = lines.collect();
    match lines[..] {
        [[0, 0, EVERY_ID]] => Ids::Shared,
        _ => Ids::Own(lines.iter().map(|[_, _, count]| count).sum()),
    }
}

fn lay_over(room: &Path) -> io::Result<()> {
    let [lower, upper, work, merged] =
        ["lower", "upper", "work", "merged"].map(|name| room.join(name));
    for folder in [&lower, &upper, &work, &merged] {
        fs::create_dir_all(folder)?;
    }
    let [below, above, aside] = [&lower, &upper, &work].map(|folder| folder.display());
    let options = format!("lowerdir={below},upperdir={above},workdir={aside},userxattr");
    let options = CString::new(options)?;
    mount(
        "overlay",
        &merged,
        "overlay",
        MountFlags::empty(),
        options.as_c_str(),
    )?;
    let written = fs::write(merged.join("written"), "");
    unmount(&merged, UnmountFlags::DETACH)?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_ids_they_are() {
        for (map, expected) in [
            ("         0          0 4294967295\n", Ids::Shared),
            ("         0     131072      65536\n", Ids::Own(65_536)),
            ("0 1000 1\n1 100000 65536\n", Ids::Own(65_537)),
            ("", Ids::Own(0)),
        ] {
            assert_eq!(ids(map), expected, "{map:?}");
        }
    }

    #[test]
    fn what_was_found_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("message");
        let args = [file.to_string_lossy().into_owned()];
        assert_eq!(probe(&args), ExitCode::SUCCESS);
        let found: Probe = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(found.overlay, Overlay::Untried);
        assert_eq!(probe(&[]), ExitCode::from(2));
        let nowhere = [folder.path().join("no/such").display().to_string()];
        assert_eq!(probe(&nowhere), ExitCode::FAILURE);
    }
}
