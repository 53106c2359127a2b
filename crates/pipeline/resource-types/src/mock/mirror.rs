//! `mirror_self`: the root file system that the resource runs in, handed out as an image. A
//! resource type with that image is `mock` again.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink},
    path::Path,
};

use serde_json::json;

use crate::Failure;

/// Folders of the root that are handed out empty: they belong to the container, not to its image.
const EMPTY: [&str; 5] = ["proc", "sys", "dev", "tmp", ".airside"];

/// Makes `dest` an image of `root` that says which version it is.
pub(super) fn write(root: &Path, dest: &Path, version: &str) -> Result<(), Failure> {
    // Outside of a step this would be the whole machine.
    if !root.join("bin/sh").exists() || !root.join(".airside").is_dir() {
        return Err(Failure::said(
            "there is no image to mirror: start the server with --mock-image",
        ));
    }
    let rootfs = dest.join("rootfs");
    copy_folder(root, &rootfs, &EMPTY)?;
    let scripts = rootfs.join("opt/resource");
    fs::create_dir_all(&scripts).map_err(Failure::io(&scripts))?;
    let program = std::env::current_exe().map_err(Failure::io(&scripts))?;
    for verb in ["check", "in", "out"] {
        let path = scripts.join(verb);
        let text = format!(
            "#!/bin/sh\nexec '{}' resource mock {verb} \"$@\"\n",
            program.display()
        );
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(Failure::io(&path))?;
    }
    let metadata = json!({"env": [format!("MIRRORED_VERSION={version}")], "user": "root"});
    let path = dest.join("metadata.json");
    fs::write(&path, metadata.to_string()).map_err(Failure::io(&path))
}

fn copy_folder(from: &Path, to: &Path, empty: &[&str]) -> Result<(), Failure> {
    fs::create_dir(to).map_err(Failure::io(to))?;
    for entry in fs::read_dir(from).map_err(Failure::io(from))? {
        let entry = entry.map_err(Failure::io(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(Failure::io(&source))?;
        let is_empty = empty.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && is_empty {
            fs::create_dir(&target).map_err(Failure::io(&target))?;
            like(&source, &target)?;
        } else if kind.is_dir() {
            copy_folder(&source, &target, &[])?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).map_err(Failure::io(&source))?;
            symlink(link, &target).map_err(Failure::io(&target))?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(Failure::io(&source))?;
            like(&source, &target)?;
        }
    }
    like(from, to)
}

/// Copies owner and mode, in this order: a change of owner takes bits away.
fn like(source: &Path, target: &Path) -> Result<(), Failure> {
    let metadata = fs::metadata(source).map_err(Failure::io(source))?;
    lchown(target, Some(metadata.uid()), Some(metadata.gid()))
        .and_then(|()| fs::set_permissions(target, metadata.permissions()))
        .map_err(Failure::io(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_is_the_root_without_what_is_the_containers() {
        let (root, dest) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in ["bin", "proc/1", "tmp/build", "var/tmp", ".airside"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("bin/sh"), "shell").unwrap();
        fs::write(root.path().join("var/tmp/kept"), "").unwrap();
        symlink("sh", root.path().join("bin/ash")).unwrap();
        let mode = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(root.path().join("tmp"), mode).unwrap();

        write(root.path(), dest.path(), "v1").unwrap();
        let made = |path: &str| dest.path().join("rootfs").join(path);
        assert_eq!(fs::read_to_string(made("bin/ash")).unwrap(), "shell");
        assert!(made("var/tmp/kept").exists() && !made("tmp/build").exists());
        let tmp = fs::metadata(made("tmp")).unwrap();
        assert_eq!(tmp.permissions().mode() & 0o7777, 0o1777);
        let check = fs::read_to_string(made("opt/resource/check")).unwrap();
        assert!(check.contains("resource mock check"), "{check}");
        let metadata = fs::read_to_string(dest.path().join("metadata.json")).unwrap();
        assert!(metadata.contains("MIRRORED_VERSION=v1"), "{metadata}");
    }

    #[test]
    fn without_an_image_there_is_nothing_to_mirror() {
        let (root, dest) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join("bin")).unwrap();
        fs::write(root.path().join("bin/sh"), "").unwrap();
        let words = write(root.path(), dest.path(), "v1").unwrap_err();
        assert!(words.to_string().contains("--mock-image"), "{words}");
    }
}
