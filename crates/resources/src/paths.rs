//! Names that users give, as paths inside the folder they are meant for.

use std::path::{Component, Path, PathBuf};

use crate::Failure;

/// `name` within `folder`; a leading slash means nothing, `..` is refused.
pub(crate) fn inside(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let mut path = folder.to_owned();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(Failure::said(format!(
                    "the path {name:?} leads out of its folder"
                )));
            }
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let folder = Path::new("/a");
        assert_eq!(inside(folder, "b/./c").unwrap(), Path::new("/a/b/c"));
        assert_eq!(inside(folder, "/b").unwrap(), Path::new("/a/b"));
        assert!(inside(folder, "b/../../c").is_err());
    }
}
