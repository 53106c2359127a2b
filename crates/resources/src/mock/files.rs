//! The files that `mock` makes. Never outside the folder it was given.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

use super::settings::Files;
use crate::Failure;

pub(super) fn write_all(dest: &Path, files: &Files) -> Result<(), Failure> {
    for (name, content) in files {
        write(dest, name, &text(content))?;
    }
    Ok(())
}

pub(super) fn write(dest: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = inside(dest, name)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Failure::io(parent))?;
    }
    fs::write(&path, text).map_err(Failure::io(&path))
}

/// `name` within `folder`; a leading slash means nothing, `..` is refused.
pub(super) fn inside(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
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

/// Pipelines resolve `((…))` before we see it; the two words let a file contain it all the same.
fn text(content: &Value) -> String {
    let text = match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.replace("START_VAR", "((").replace("END_VAR", "))")
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

    #[test]
    fn contents_are_text_or_json() {
        assert_eq!(text(&Value::String("START_VARxEND_VAR".into())), "((x))");
        assert_eq!(
            text(&serde_json::json!({"a": ["START_VARxEND_VAR"]})),
            r#"{"a":["((x))"]}"#
        );
    }
}
