//! Manifests from files of artifacts, as documents in the order in which they are applied.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use airside_model::chain;
use serde_json::{Value, json};

use super::{
    kinds::{ObjectKind, is_name},
    names::generated_from,
};
use crate::{Failure, paths::matching};

/// Largest file of manifests.
const MAX_FILE: u64 = 8 << 20;
/// Largest number of bytes of all files together.
const MAX_BYTES: usize = 16 << 20;
/// Largest number of documents of one put.
const MAX_DOCUMENTS: usize = 1000;
const KEY: &str = "manifests";

/// One object to apply.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) kind: ObjectKind,
    pub(super) body: Value,
    /// Name of its file, and its number there.
    pub(super) place: String,
}

impl Document {
    fn new(body: Value, place: String) -> Result<Self, Failure> {
        let bad = |words: &str| Failure::said(format!("{place}: {words}"));
        let Some(kind) = ObjectKind::of_object(&body) else {
            return Err(bad("it has no apiVersion and kind of an object"));
        };
        let name = body.pointer("/metadata/name").and_then(Value::as_str);
        if name.is_some_and(|name| !is_name(name)) {
            return Err(bad("metadata.name is not a valid name in Kubernetes"));
        }
        if name.is_none() && generated_from(&body).is_none() {
            return Err(bad(
                "it has neither metadata.name nor metadata.generateName",
            ));
        }
        Ok(Self { kind, body, place })
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.body.pointer("/metadata/name")?.as_str()
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        let name = self.body.pointer("/metadata/namespace")?.as_str()?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Returns true if others can be applied only once it is there: a definition or a namespace.
    pub(super) fn goes_first(&self) -> bool {
        let is_namespace = self.kind.group.is_empty() && self.kind.kind == "Namespace";
        self.is_definition() || is_namespace
    }

    fn is_definition(&self) -> bool {
        let kind = &self.kind;
        kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
    }

    /// Returns true if this is the definition of a kind.
    pub(super) fn defines(&self, kind: &ObjectKind) -> bool {
        let text = |pointer: &str| self.body.pointer(pointer).and_then(Value::as_str);
        self.is_definition()
            && text("/spec/group") == Some(&kind.group)
            && text("/spec/names/kind") == Some(&kind.kind)
    }
}

/// Reads all documents that the patterns mean.
pub(super) fn read(patterns: &[String], src: &Path) -> Result<Vec<Document>, Failure> {
    let mut documents = Vec::new();
    let mut bytes = 0;
    for path in files(patterns, src)? {
        let name = path
            .strip_prefix(src)
            .unwrap_or(&path)
            .display()
            .to_string();
        let text = read_file(&path, &name)?;
        bytes += text.len();
        if bytes > MAX_BYTES {
            let words = format!("are larger than {MAX_BYTES} bytes together");
            return Err(Failure::params(KEY, words));
        }
        for (number, part) in split(&text).enumerate() {
            let place = format!("{name}, document {}", number + 1);
            add(&mut documents, &part, &name, place)?;
        }
    }
    if documents.is_empty() && !patterns.is_empty() {
        return Err(Failure::params(KEY, "are files without an object in them"));
    }
    Ok(documents)
}

fn files(patterns: &[String], src: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut all: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        let mut found = Vec::new();
        for path in matching(src, pattern)? {
            if path.is_dir() {
                found.extend(manifests_of(&path));
            } else if path.is_file() {
                found.push(path);
            }
        }
        if found.is_empty() {
            let words = format!("has {pattern:?}, and no file among the inputs is called that");
            return Err(Failure::params(KEY, words));
        }
        found.sort();
        found.retain(|path| !all.contains(path));
        all.extend(found);
        if all.len() > MAX_DOCUMENTS {
            return Err(Failure::params(
                KEY,
                format!("are more than {MAX_DOCUMENTS} files"),
            ));
        }
    }
    Ok(all)
}

/// Returns the manifests that lie in a folder.
fn manifests_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_manifest = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yml" | "yaml" | "json")) && path.is_file()
    };
    paths.filter(is_manifest).collect()
}

fn read_file(path: &Path, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(Failure::io(path))?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    let bad = |words: String| Failure::params(KEY, format!("has {name:?}, which {words}"));
    read.map_err(|error| bad(format!("cannot be read: {}", chain(&error))))?;
    if text.len() as u64 > MAX_FILE {
        return Err(bad(format!("has more than {MAX_FILE} bytes")));
    }
    Ok(text)
}

/// A document's text, and the number of lines before it.
struct Part<'a> {
    text: &'a str,
    lines_before: usize,
}

/// Splits a file at the lines that begin a document, which no other line of YAML can look like.
fn split(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut starts = vec![(0, 0)];
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_start = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_start {
            starts.push((at + 3, number));
        }
        at += line.len();
    }
    let mut ends: Vec<usize> = starts.iter().skip(1).map(|(start, _)| start - 3).collect();
    ends.push(text.len());
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, lines_before), end)| Part {
            text: &text[start..end],
            lines_before,
        })
}

/// Adds the objects of one document: none of an empty one, several of a list.
fn add(
    documents: &mut Vec<Document>,
    part: &Part<'_>,
    name: &str,
    place: String,
) -> Result<(), Failure> {
    let bad = |error: airside_yaml::Error| {
        let line = part.lines_before + error.position.line;
        Failure::said(format!(
            "{name}, line {line}: it is no YAML: {}",
            error.kind
        ))
    };
    let body = airside_yaml::parse(part.text).map_err(bad)?;
    let body = body.to_json().map_err(bad)?;
    let items = match body {
        Value::Null => return Ok(()),
        Value::Object(mut map) if map.get("kind") == Some(&json!("List")) => {
            match map.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    };
    for item in items {
        if documents.len() == MAX_DOCUMENTS {
            let words = format!("have more than {MAX_DOCUMENTS} objects");
            return Err(Failure::params(KEY, words));
        }
        documents.push(Document::new(item, place.clone())?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    fn read_text(text: &str) -> Result<Vec<Document>, String> {
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("a.yml"), text).unwrap();
        let read = read(&["a.yml".to_owned()], folder.path());
        read.map_err(|failure| failure.to_string())
    }

    #[test]
    fn documents_are_read_in_their_order() {
        let text = "# first\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    x\n   \n--- # more\n\
                    {\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \
                    \"metadata\": {\"generateName\": \"b-\"}}]}\n---\n---\n";
        let documents = read_text(text).unwrap();
        let names: Vec<_> = documents.iter().map(|document| document.name()).collect();
        assert_eq!(names, [Some("a"), None]);
        assert_eq!(documents[1].place, "a.yml, document 3");
        assert_eq!(documents[0].body["data"]["text"], "x\n");
    }

    #[test]
    fn mistakes_name_file_and_line() {
        for (text, words) in [
            ("# a\n---\nx: [1\n", "a.yml, line 3: it is no YAML"),
            (
                "- a\n",
                "a.yml, document 1: it has no apiVersion and kind of an object",
            ),
            (
                "apiVersion: v1\nkind: Pod\n",
                "neither metadata.name nor metadata.generateName",
            ),
            (
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a/b}\n",
                "metadata.name is not a valid name",
            ),
            (
                "# nothing\n",
                "params.manifests are files without an object in them",
            ),
        ] {
            let found = read_text(text).unwrap_err();
            assert!(found.contains(words), "{text:?}: {found}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let many = "---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n".repeat(1001);
        assert!(
            read_text(&many)
                .unwrap_err()
                .contains("more than 1000 objects")
        );
        let large = "a\n".repeat(5 << 20);
        assert!(
            read_text(&large)
                .unwrap_err()
                .contains("more than 8388608 bytes")
        );
        let deep = "[".repeat(1_000_000);
        assert!(read_text(&deep).is_err());
    }

    #[test]
    fn definitions_are_known() {
        let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.e.com}\n\
                    spec: {group: e.com, names: {kind: X}}\n";
        let documents = read_text(text).unwrap();
        let kind = |text: &str| ObjectKind::parse(text).unwrap();
        assert!(documents[0].goes_first());
        assert!(documents[0].defines(&kind("X.e.com/v1")));
        assert!(!documents[0].defines(&kind("Y.e.com/v1")));
    }
}
