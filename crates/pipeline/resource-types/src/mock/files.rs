//! The files that `mock` makes. Never outside the folder it was given.

use std::{fs, path::Path};

use serde_json::Value;

use super::settings::Files;
use crate::{Failure, paths::inside};

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
    fn contents_are_text_or_json() {
        assert_eq!(text(&Value::String("START_VARxEND_VAR".into())), "((x))");
        assert_eq!(
            text(&serde_json::json!({"a": ["START_VARxEND_VAR"]})),
            r#"{"a":["((x))"]}"#
        );
    }
}
