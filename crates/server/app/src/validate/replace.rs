//! Replaces a file's content in one step: readers see the old content or the new, never a part.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

/// Writes `new` in the place of `old`. The mode and owner stay, and of a symbolic link the file
/// behind it is replaced. A file that no longer has the content `old` is left alone.
pub(super) fn replace_file(file: &Path, old: &str, new: &str) -> io::Result<()> {
    let file = fs::canonicalize(file)?;
    let before = fs::metadata(&file)?;
    if !before.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let folder = file.parent().unwrap_or_else(|| Path::new("/"));
    let mut made = tempfile::Builder::new()
        .prefix(".airside-validate-")
        .tempfile_in(folder)?;
    made.write_all(new.as_bytes())?;
    let own = made.as_file().metadata()?;
    if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
        chown(made.path(), Some(before.uid()), Some(before.gid()))?;
    }
    // Behind the owner, whose change would take special bits away.
    made.as_file().set_permissions(before.permissions())?;
    made.as_file().sync_all()?;
    if fs::read(&file)? != old.as_bytes() {
        return Err(io::Error::other(
            "it was changed in the meantime; try again",
        ));
    }
    made.persist(&file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn mode_and_link_stay_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.yml"), folder.path().join("b.yml"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a.yml", &link).unwrap();
        replace_file(&link, "old", "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
        let refused = replace_file(&file, "old", "newer").unwrap_err();
        assert!(refused.to_string().contains("meantime"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(replace_file(folder.path(), "", "x").is_err());
    }
}
