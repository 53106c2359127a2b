//! An image for the resource type `mock` to work in.

use std::path::Path;

/// An OCI layout below `folder`, as `--mock-image` takes it.
pub fn mock_image(folder: &Path) -> String {
    crate::layout(folder).display().to_string()
}
