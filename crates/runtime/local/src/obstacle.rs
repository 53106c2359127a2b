//! Finds out whether steps can run on this machine at all, before one is tried.

use std::path::Path;

use airside_model::chain;
use airside_runtime::{Condition, Lack, Shape};

use crate::{Error, overlay_probe, rootless::Rootless};

/// The kernel's number for overlayfs.
const OVERLAYFS: i128 = 0x794c_7630;

/// Checks that steps can run: with the rights of this process, on the file system under `root`, and
/// with overlays of this kernel.
pub(crate) fn check_machine(root: &Path) -> Result<(), Error> {
    check(root)?;
    overlay_probe::check(root)
}

/// Checks what may have changed since the start: the rights of this process, and the file system
/// under `root`. Cheap enough for every step.
pub(crate) fn check(root: &Path) -> Result<(), Error> {
    Rootless::prepare().map_err(Error::NotRoot)?;
    check_folder(root)
}

/// Checks that the file system under `root` can hold the roots of steps.
pub(crate) fn check_folder(root: &Path) -> Result<(), Error> {
    let found = rustix::fs::statfs(root).map_err(|error| Error::disk(root)(error.into()))?;
    if is_overlayfs(found.f_type) {
        return Err(Error::OnOverlay {
            path: root.to_owned(),
        });
    }
    Ok(())
}

/// The type of the kernel's number differs between machines.
fn is_overlayfs(kind: impl Into<i128>) -> bool {
    kind.into() == OVERLAYFS
}

/// Returns the worker's condition: well without obstacles, else stalled, and so without steps.
pub(crate) fn condition(checked: &Result<(), Error>) -> Condition {
    let Err(error) = checked else {
        return Condition::default();
    };
    let why = chain(error);
    Condition {
        stalled: Some(why.clone()),
        lacks: vec![Lack {
            shapes: vec![Shape::Plain],
            why,
        }],
        not_offered: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_with_an_obstacle_is_stalled_and_gets_no_steps() {
        assert_eq!(condition(&Ok(())), Condition::default());
        let overlay = Err(Error::OnOverlay {
            path: "/data".into(),
        });
        let condition = condition(&overlay);
        assert!(condition.stalled.is_some());
        let words = condition.cannot(&[Shape::Plain]).unwrap_or_default();
        assert!(words.contains("/data is on overlayfs"), "{words}");
    }

    #[test]
    fn only_overlayfs_is_overlayfs() {
        assert!(is_overlayfs(OVERLAYFS));
        assert!(!is_overlayfs(0xEF53_i64));
    }
}
