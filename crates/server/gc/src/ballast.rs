//! A file that takes up a little of the disk, so that there is something to give when it is full.
//!
//! A step that fills the disk takes the room that the build needs to say so: its log cannot be
//! written, so it cannot end, so what it wrote stays. The ballast breaks that ring. It comes back
//! once there is room.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use airside_model::chain;
use airside_volumes::{Bytes, Disk};
use rustix::fs::{FallocateFlags, fallocate};
use tracing::{debug, info, warn};

/// The most that it takes, and which part of a small disk.
const MAX_BALLAST_BYTES: u64 = 64 << 20;
const PART: u64 = 50;

/// An action on the ballast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BallastAction {
    Leave,
    GiveUp,
    Make { bytes: u64 },
}

fn size(disk: Disk) -> u64 {
    MAX_BALLAST_BYTES.min(disk.total / PART)
}

/// Returns true if so little is free that nothing may be left for a database and for logs.
pub(crate) fn is_full(disk: Disk) -> bool {
    disk.free < size(disk) / 4
}

/// Decides about the ballast: it is given up on a full disk, and made again once four times its
/// size is free.
fn decide(disk: Disk, is_there: bool) -> BallastAction {
    let bytes = size(disk);
    if is_there && is_full(disk) {
        BallastAction::GiveUp
    } else if !is_there && disk.free > bytes.saturating_mul(4) {
        BallastAction::Make { bytes }
    } else {
        BallastAction::Leave
    }
}

/// Makes the file or gives it up, as the disk wants it.
pub(crate) fn tend(file: &Path, disk: Disk) {
    match decide(disk, file.exists()) {
        BallastAction::Leave => {}
        BallastAction::GiveUp => match fs::remove_file(file) {
            Ok(()) => warn!(free = %Bytes(disk.free), "ballast file removed: the disk is full"),
            Err(error) => {
                warn!(error = %chain(&error), "ballast file not removed, though the disk is full")
            }
        },
        BallastAction::Make { bytes } => match make(file, bytes) {
            Ok(()) => {
                info!(size = %Bytes(bytes), "ballast file made, to be removed when the disk is full")
            }
            Err(error) => {
                debug!(error = %chain(&error), "ballast file not made");
                let _ = fs::remove_file(file);
            }
        },
    }
}

fn make(file: &Path, bytes: u64) -> io::Result<()> {
    let file = File::create(file)?;
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_up_when_little_is_left_and_comes_back_when_much_is() {
        let small = |free| Disk { total: 5000, free };
        let large = |free| Disk {
            total: 1 << 40,
            free,
        };
        for (disk, is_there, verdict) in [
            (small(5000), false, BallastAction::Make { bytes: 100 }),
            (small(401), false, BallastAction::Make { bytes: 100 }),
            (small(400), false, BallastAction::Leave),
            (small(5000), true, BallastAction::Leave),
            (small(25), true, BallastAction::Leave),
            (small(24), true, BallastAction::GiveUp),
            (small(0), false, BallastAction::Leave),
            (
                large(1 << 30),
                false,
                BallastAction::Make {
                    bytes: MAX_BALLAST_BYTES,
                },
            ),
            (large(1 << 20), true, BallastAction::GiveUp),
        ] {
            assert_eq!(decide(disk, is_there), verdict, "{disk:?} {is_there}");
        }
    }

    #[test]
    fn it_takes_room_and_gives_it_back() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ballast");
        let disk = |free| Disk {
            total: 100 << 20,
            free,
        };
        tend(&file, disk(100 << 20));
        let made = fs::metadata(&file).unwrap();
        assert_eq!(made.len(), 2 << 20);
        assert!(made.blocks() * 512 >= 2 << 20, "it takes up room");
        tend(&file, disk(0));
        assert!(!file.exists());
    }
}
