//! An image for the resource type `mock` to work in.

use std::{path::Path, process::Command};

use crate::Environment;

/// An OCI layout below `folder`, as `--mock-image` takes it.
pub fn mock_image(folder: &Path) -> String {
    let path = folder.join("layout");
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dev/image");
    let made = Command::new(tool)
        .arg("layout")
        .arg(Environment::get().rootfs)
        .arg(&path)
        .status()
        .expect("dev/image runs");
    assert!(made.success());
    path.display().to_string()
}
