//! The search for the file to execute.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Finds `wanted`: relative to `dir` if it has a slash, in the folders of `search` otherwise. The
/// error is in words for the build's log.
pub(crate) fn find(wanted: &str, dir: &Path, search: &OsStr) -> Result<PathBuf, String> {
    if wanted.is_empty() {
        return Err("no executable is named".to_owned());
    }
    if wanted.contains('/') {
        let path = dir.join(wanted);
        return match judge(&path) {
            Found::Executable => Ok(path),
            Found::Nothing => Err(format!("executable {} does not exist", path.display())),
            Found::Folder => Err(format!("{} is a folder, not an executable", path.display())),
            Found::NotExecutable => Err(format!(
                "{} is not executable: its mode has no x (chmod +x makes it so)",
                path.display()
            )),
        };
    }
    let mut passed_over = None;
    for folder in std::env::split_paths(search) {
        let path = dir.join(folder).join(wanted);
        match judge(&path) {
            Found::Executable => return Ok(path),
            Found::NotExecutable => passed_over = passed_over.or(Some(path)),
            Found::Nothing | Found::Folder => {}
        }
    }
    Err(match passed_over {
        Some(path) => format!("{} is not executable: its mode has no x", path.display()),
        None => {
            format!(
                "executable {wanted:?} is in no folder of PATH ({})",
                search.to_string_lossy()
            )
        }
    })
}

enum Found {
    Executable,
    NotExecutable,
    Folder,
    Nothing,
}

fn judge(path: &Path) -> Found {
    match fs::metadata(path) {
        Err(_) => Found::Nothing,
        Ok(metadata) if metadata.is_dir() => Found::Folder,
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Found::NotExecutable,
        Ok(_) => Found::Executable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_found_where_they_should_be() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        for (name, mode) in [
            ("bin/tool", 0o755),
            ("bin/plain", 0o644),
            ("other/tool", 0o755),
        ] {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let search = OsStr::new("missing:bin:other");
        assert_eq!(find("tool", dir, search).unwrap(), dir.join("bin/tool"));
        assert_eq!(
            find("other/tool", dir, search).unwrap(),
            dir.join("other/tool")
        );
        let absolute = dir.join("other/tool");
        assert_eq!(
            find(absolute.to_str().unwrap(), dir, search).unwrap(),
            absolute
        );
        for (wanted, words) in [
            ("plain", "not executable"),
            ("bin/plain", "not executable"),
            ("./bin", "is a folder"),
            ("bin/none", "does not exist"),
            ("none", "in no folder of PATH"),
            ("", "no executable"),
        ] {
            let error = find(wanted, dir, search).unwrap_err();
            assert!(error.contains(words), "{wanted}: {error}");
        }
    }
}
