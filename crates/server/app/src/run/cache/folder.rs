//! The folder of the cache, which no other user may touch: what is in it becomes root of steps.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use airside_runtime_local::is_shown_to_steps;

const ROOTS_OWN: &str = "/var/cache/airside/run";
const BELOW_CACHES: &str = "airside/run";
/// The first line of a file that marks a cache for all programs.
const SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55";
/// The beginning of a file's name that becomes the mark.
const SCRATCH: &str = "new-tag-";
const OWNER: &str = "Cache of `airside run`; `airside clean --cache` removes it";
/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Returns the folder, given or by default, once it is there and no other user can change it. Call
/// it before this process is root of a user namespace.
pub(super) fn prepare(given: Option<&Path>) -> Result<PathBuf, String> {
    let path = locate(given)?;
    let shown = path.display();
    let failed = |error| {
        format!(
            "cannot make the cache directory {shown}: {}",
            airside_model::chain(&error)
        )
    };
    let there = path.ancestors().find(|path| path.exists());
    check(
        &there
            .unwrap_or_else(|| Path::new("/"))
            .canonicalize()
            .map_err(failed)?,
    )?;
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(&path)
        .map_err(failed)?;
    let path = path.canonicalize().map_err(failed)?;
    check(&path)?;
    check_own(&path)?;
    claim(&path)?;
    Ok(path)
}

/// Marks a folder as a cache: another that holds anything is not to be swept. Programs that make
/// backups know the mark.
fn claim(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let failed = |error: io::Error| {
        format!(
            "cannot use the cache directory {shown}: {}",
            airside_model::chain(&error)
        )
    };
    let tag = path.join("CACHEDIR.TAG");
    let is_ours = || fs::read_to_string(&tag).is_ok_and(|text| text.contains(OWNER));
    if is_ours() {
        return Ok(());
    }
    let names = fs::read_dir(path).map_err(failed)?.flatten();
    let mut names = names.map(|entry| entry.file_name());
    let is_foreign = |name: OsString| !name.as_encoded_bytes().starts_with(SCRATCH.as_bytes());
    // Another run may have marked it meanwhile, which is the first thing that a run does.
    if names.any(is_foreign) && !is_ours() {
        return Err(format!(
            "{shown} holds other things than a cache of Airside; choose an empty directory"
        ));
    }
    let scratch = path.join(format!("{SCRATCH}{}", std::process::id()));
    fs::write(&scratch, format!("{SIGNATURE}\n# {OWNER}\n"))
        .and_then(|()| fs::rename(&scratch, &tag))
        .map_err(failed)
}

/// Returns the folder's path, whatever is there.
pub(super) fn locate(given: Option<&Path>) -> Result<PathBuf, String> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => {
            let is_root = rustix::process::geteuid().is_root();
            let variable = |name| std::env::var_os(name);
            by_default(is_root, variable("XDG_CACHE_HOME"), variable("HOME"))
                .ok_or("neither XDG_CACHE_HOME nor HOME is set")?
        }
    };
    std::path::absolute(&path).map_err(|error| {
        format!(
            "{}: {error}",
            path.display(),
            error = airside_model::chain(&error)
        )
    })
}

/// Root's home may be another user's, by `sudo`.
fn by_default(is_root: bool, caches: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let caches = caches.map(PathBuf::from).filter(absolute);
    if let Some(caches) = caches {
        return Some(caches.join(BELOW_CACHES));
    }
    if is_root {
        return Some(PathBuf::from(ROOTS_OWN));
    }
    let home = home.map(PathBuf::from).filter(absolute)?;
    Some(home.join(".cache").join(BELOW_CACHES))
}

/// Checks that no other user can put another folder in the place of this one. `path` has no links.
fn check(path: &Path) -> Result<(), String> {
    if is_shown_to_steps(path) {
        return Err(format!(
            "steps that use the host's image see {}",
            path.display()
        ));
    }
    let user = rustix::process::geteuid().as_raw();
    for folder in path.ancestors() {
        let shown = folder.display();
        let found = fs::symlink_metadata(folder)
            .map_err(|error| format!("{shown}: {}", airside_model::chain(&error)))?;
        if ![0, user].contains(&found.uid()) {
            return Err(format!("{shown} belongs to user {}", found.uid()));
        }
        if found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0 {
            return Err(format!("other users can write to {shown}"));
        }
    }
    Ok(())
}

fn check_own(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let found = fs::symlink_metadata(path)
        .map_err(|error| format!("{shown}: {}", airside_model::chain(&error)))?;
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return Err(format!("{shown} is not a directory"));
    }
    if found.uid() != user {
        return Err(format!("{shown} belongs to user {}", found.uid()));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(format!("other users can write to {shown}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn root_has_a_place_of_its_own() {
        let text = |text: &str| Some(OsString::from(text));
        for (is_root, caches, home, expected) in [
            (false, None, text("/home/a"), "/home/a/.cache/airside/run"),
            (false, text("/c"), text("/home/a"), "/c/airside/run"),
            (
                false,
                text("c"),
                text("/home/a"),
                "/home/a/.cache/airside/run",
            ),
            (true, None, text("/home/a"), ROOTS_OWN),
            (true, text("/c"), None, "/c/airside/run"),
        ] {
            let chosen = by_default(is_root, caches, home);
            assert_eq!(chosen.as_deref(), Some(Path::new(expected)));
        }
        assert_eq!(by_default(false, None, None), None);
    }

    #[test]
    fn a_folder_is_made_for_this_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = prepare(Some(&parent.path().join("a/b"))).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(prepare(Some(&path)), Ok(path));
    }

    #[test]
    fn a_folder_with_other_things_is_not_taken() {
        let parent = tempfile::tempdir().unwrap();
        let theirs = parent.path().join("images/tmp/mine");
        fs::create_dir_all(&theirs).unwrap();
        let words = prepare(Some(parent.path())).unwrap_err();
        assert!(words.contains("choose an empty directory"), "{words}");
        assert!(theirs.exists());
        airside_archive::remove(&parent.path().join("images")).unwrap();
        fs::write(parent.path().join("CACHEDIR.TAG"), SIGNATURE).unwrap();
        assert!(prepare(Some(parent.path())).is_err(), "another program's");
    }

    #[test]
    fn hostile_folders_that_others_can_change_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let open = parent.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = |path: &Path| prepare(Some(path)).unwrap_err();
        assert!(refused(&open).contains("other users can write"));
        assert!(refused(&open.join("below")).contains("other users can write"));
        assert!(!open.join("below").exists(), "nothing is made in there");
        let link = parent.path().join("link");
        symlink(&open, &link).unwrap();
        assert!(refused(&link.join("below")).contains("other users can write"));
        assert!(refused(Path::new("/opt/airside-cache")).contains("host's image"));
    }

    #[test]
    fn hostile_folders_of_another_user_are_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let parent = tempfile::tempdir().unwrap();
        let theirs = parent.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        chown(&theirs, Some(65534), None).unwrap();
        for path in [theirs.clone(), theirs.join("below")] {
            let words = prepare(Some(&path)).unwrap_err();
            assert!(words.contains("belongs to user 65534"), "{words}");
        }
    }
}
