//! The list of targets: a file, flags, or both. Reading it touches no cluster.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use airside_runtime_kubernetes::{Target, targets};
use anyhow::{Result, bail};

#[derive(Clone)]
pub struct TargetSource {
    file: Option<PathBuf>,
    flags: Vec<String>,
}

impl TargetSource {
    pub fn new(file: Option<PathBuf>, flags: Vec<String>) -> Self {
        Self { file, flags }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// All targets as they are written now: the file's first.
    pub fn read(&self) -> Result<Vec<Target>> {
        let mut listed = match &self.file {
            Some(file) => targets::load(file)?,
            None => Vec::new(),
        };
        listed.extend(targets::from_flags(&self.flags)?);
        let mut names = HashSet::new();
        for target in &listed {
            if !names.insert(&target.name) {
                bail!(
                    "there are two targets {:?}: one is given with --target",
                    target.name.as_str()
                );
            }
        }
        Ok(listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_targets_then_the_flags_and_no_name_twice() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("targets.yml");
        std::fs::write(&file, "targets:\n- {name: a, namespace: ci, hub_host: h}\n").unwrap();
        let source = |name: &str| {
            let flag = format!("name={name},namespace=ci,hub_host=h");
            TargetSource::new(Some(file.clone()), vec![flag]).read()
        };
        let names: Vec<String> = source("b")
            .unwrap()
            .iter()
            .map(|it| it.name.to_string())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let twice = source("a").expect_err("the name is taken");
        assert!(twice.to_string().contains("two targets \"a\""), "{twice}");
        assert!(
            TargetSource::new(None, Vec::new())
                .read()
                .unwrap()
                .is_empty()
        );
    }
}
