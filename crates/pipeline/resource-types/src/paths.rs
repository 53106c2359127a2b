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

/// The one file or folder within `folder` that a pattern of a param means.
pub(crate) fn the_one(folder: &Path, pattern: &str, key: &str) -> Result<PathBuf, Failure> {
    let bad = |words: &str| Failure::params(key, format!("is {pattern:?}, and {words}"));
    match &matching(folder, pattern)?[..] {
        [only] => Ok(only.clone()),
        [] => Err(bad("nothing among the inputs is called that")),
        many => Err(bad(&format!(
            "{} things among the inputs are called that",
            many.len()
        ))),
    }
}

/// All files and folders within `folder` that a pattern means, or the one that is called so.
pub(crate) fn matching(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let plain = inside(folder, pattern)?;
    if plain.exists() {
        return Ok(vec![plain]);
    }
    let mut found = vec![folder.to_owned()];
    for component in Path::new(pattern).components() {
        let Component::Normal(part) = component else {
            continue;
        };
        let part = part.to_string_lossy();
        let mut next = Vec::new();
        for folder in &found {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if glob(part.as_bytes(), name.to_string_lossy().as_bytes()) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    Ok(found)
}

/// Returns true if a name fits a pattern; to a star any name does.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    fits(pattern.as_bytes(), name.as_bytes())
}

/// `*`, `?` and `[a-z]`, within one name; names with a dot ahead are not meant by a star.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    if name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    fits(pattern, name)
}

fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // Where the last star was, and how much of the name it has taken.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'?') => Some(p + 1),
            Some(b'[') => class(&pattern[p..], name[n]).map(|length| p + length),
            Some(byte) => (*byte == name[n]).then_some(p + 1),
            None => None,
        };
        match (step, star) {
            (Some(next), _) => (p, n) = (next, n + 1),
            (None, Some((after, taken))) => {
                star = Some((after, taken + 1));
                (p, n) = (after, taken + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Returns the length of a class if the byte is in it.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let end = pattern.iter().skip(2).position(|byte| *byte == b']')? + 2;
    let (negated, inner) = match pattern[1] {
        b'!' | b'^' => (true, &pattern[2..end]),
        _ => (false, &pattern[1..end]),
    };
    let mut found = false;
    let mut place = 0;
    while place < inner.len() {
        match inner[place..] {
            [from, b'-', to, ..] => {
                found |= (from..=to).contains(&byte);
                place += 3;
            }
            [one, ..] => {
                found |= one == byte;
                place += 1;
            }
            [] => break,
        }
    }
    (found != negated).then_some(end + 1)
}

/// Removes the contents of a folder: a part might be taken for the whole.
pub(crate) fn clear(folder: &Path) {
    // What cannot be removed is not handed on either: the step has failed.
    let _ = airside_archive::clear(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_one_thing() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/x-1.tgz", "a/x-2.zip", "b/y[1].txt", "b/.hidden"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        for (pattern, found) in [
            ("a/x-1.tgz", Some("a/x-1.tgz")),
            ("a/*.tgz", Some("a/x-1.tgz")),
            ("*/x-?.zip", Some("a/x-2.zip")),
            ("a/x-[2-9]*", Some("a/x-2.zip")),
            ("a/x-[!2]*", Some("a/x-1.tgz")),
            ("b/y[1].txt", Some("b/y[1].txt")),
            ("b/*", Some("b/y[1].txt")),
            ("a/*", None),
            ("c/*", None),
        ] {
            let result = the_one(folder.path(), pattern, "file").ok();
            assert_eq!(
                result,
                found.map(|name| folder.path().join(name)),
                "{pattern}"
            );
        }
        assert!(the_one(folder.path(), "../*", "file").is_err());
    }

    #[test]
    fn paths_stay_inside() {
        let folder = Path::new("/a");
        assert_eq!(inside(folder, "b/./c").unwrap(), Path::new("/a/b/c"));
        assert_eq!(inside(folder, "/b").unwrap(), Path::new("/a/b"));
        assert!(inside(folder, "b/../../c").is_err());
    }
}
