//! Task caches on the disk: trees with the facts of what they are.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use airside_model::VolumeId;
use airside_store::{Micros, NamedTaskCache};
use airside_volumes::{OwnFolder, hold, size_of, take_unheld};
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The file with the facts of a cache. Its time is the time of its last use.
const FACTS: &str = "meta.json";
const TREE: &str = "tree";

/// The facts that are kept beside a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    job: String,
    step: String,
    path: String,
    expires_at: Option<i64>,
    bytes: u64,
}

impl Facts {
    pub(super) fn named(&self, volume: VolumeId) -> NamedTaskCache {
        NamedTaskCache {
            job: self.job.clone(),
            step: self.step.clone(),
            path: self.path.clone(),
            volume,
            expires_at: self.expires_at.map(Micros),
        }
    }
}

/// A cache that this run uses.
pub(super) struct Taken {
    pub(super) facts: Facts,
    pub(super) tree: PathBuf,
}

/// A cache on the disk.
#[derive(Debug)]
pub(super) struct StoredTaskCache {
    pub(super) folder: PathBuf,
    pub(super) used: SystemTime,
    pub(super) bytes: u64,
}

pub(super) struct TaskCaches {
    live: PathBuf,
    own: OwnFolder,
    /// Caches that this run uses: no other removes them.
    held: Vec<File>,
}

impl TaskCaches {
    pub(super) fn open(root: &Path) -> Result<Self> {
        let live = root.join("live");
        make_folder(&live)?;
        let own = OwnFolder::below(&root.join("tmp"))
            .with_context(|| format!("cannot use {}", root.display()))?;
        Ok(Self {
            live,
            own,
            held: Vec::new(),
        })
    }

    /// Takes the newest of each cache of a pipeline into use.
    pub(super) fn take(&mut self, pipeline: &str) -> Result<Vec<Taken>> {
        let mut taken = Vec::new();
        for cache in folders(&self.live.join(pipeline))? {
            let Some((_, folder)) = numbered(&cache)?.pop() else {
                continue;
            };
            let path = folder.join(FACTS);
            let Some(file) = hold(&path).with_context(|| path.display().to_string())? else {
                continue;
            };
            // A damaged one is removed when the run ends.
            let Ok(facts) = read_facts(&folder) else {
                continue;
            };
            touch(&path)?;
            self.held.push(file);
            taken.push(Taken {
                facts,
                tree: folder.join(TREE),
            });
        }
        Ok(taken)
    }

    /// Lets others remove what this run used.
    pub(super) fn release(&mut self) {
        self.held.clear();
    }

    /// Keeps a tree, which is moved, as the newest of its cache.
    pub(super) fn keep(&self, pipeline: &str, cache: &NamedTaskCache, tree: &Path) -> Result<()> {
        let work = self.own.path().join("cache");
        airside_archive::remove(&work)?;
        make_folder(&work)?;
        let place = work.join(TREE);
        match fs::rename(tree, &place) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                make_folder(&place)?;
                airside_archive::copy(tree, &place)?;
            }
            Err(error) => return Err(error.into()),
        }
        let facts = Facts {
            job: cache.job.clone(),
            step: cache.step.clone(),
            path: cache.path.clone(),
            expires_at: cache.expires_at.map(|at| at.0),
            bytes: size_of(&place)?,
        };
        fs::write(work.join(FACTS), serde_json::to_vec(&facts)?)?;
        let folder = self.live.join(pipeline).join(key(cache));
        make_folder(&folder)?;
        self.settle(&work, &folder)?;
        for (_, old) in numbered(&folder)?.iter().rev().skip(1) {
            self.remove(old)?;
        }
        Ok(())
    }

    /// Gives a new cache the next number.
    fn settle(&self, work: &Path, folder: &Path) -> Result<()> {
        loop {
            let newest = numbered(folder)?.last().map_or(0, |(number, _)| *number);
            match fs::rename(work, folder.join((newest + 1).to_string())) {
                Ok(()) => return Ok(()),
                // Another run was faster.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Lists all caches. One that has a newer one counts as unused for ever.
    pub(super) fn stored(&self) -> Result<Vec<StoredTaskCache>> {
        let mut stored = Vec::new();
        for pipeline in folders(&self.live)? {
            for cache in folders(&pipeline)? {
                let mut versions = numbered(&cache)?;
                let newest = versions.pop().map(|(_, folder)| folder);
                stored.extend(newest.iter().filter_map(|folder| measure(folder, None)));
                let old = versions.iter().map(|(_, folder)| folder);
                let unused = Some(SystemTime::UNIX_EPOCH);
                stored.extend(old.filter_map(|folder| measure(folder, unused)));
            }
        }
        Ok(stored)
    }

    /// Removes a cache, unless a run uses it.
    pub(super) fn remove(&self, folder: &Path) -> Result<bool> {
        let unheld = take_unheld(&folder.join(FACTS))?;
        if unheld.is_none() && folder.join(FACTS).exists() {
            return Ok(false);
        }
        let away = self.own.path().join("away");
        airside_archive::remove(&away)?;
        match fs::rename(folder, &away) {
            Ok(()) => airside_archive::remove(&away)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }
}

/// The folder's name of a cache within its pipeline.
fn key(cache: &NamedTaskCache) -> String {
    let name = json!([cache.job, cache.step, cache.path]).to_string();
    hex::encode(Sha256::digest(name))
}

/// Returns the versions of a cache, the oldest first.
fn numbered(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let number = |path: &Path| path.file_name()?.to_str()?.parse().ok();
    let all = folders(folder)?.into_iter();
    let mut found: Vec<_> = all
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    found.sort();
    Ok(found)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot list {}", folder.display()))?,
    };
    let paths = entries.map(|entry| Ok(entry?.path()));
    paths.collect()
}

fn measure(folder: &Path, used: Option<SystemTime>) -> Option<StoredTaskCache> {
    let modified = || fs::metadata(folder.join(FACTS)).and_then(|file| file.modified());
    // Without its facts a cache is of no use.
    let facts = read_facts(folder).ok();
    let used = used.or_else(|| modified().ok().filter(|_| facts.is_some()));
    Some(StoredTaskCache {
        folder: folder.to_owned(),
        used: used.unwrap_or(SystemTime::UNIX_EPOCH),
        bytes: facts.map_or(0, |facts| facts.bytes),
    })
}

fn read_facts(folder: &Path) -> Result<Facts> {
    let path = folder.join(FACTS);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the time of a file, which is only ever compared with others of this disk"
)]
fn touch(path: &Path) -> io::Result<()> {
    let file = File::options().append(true).open(path)?;
    file.set_modified(SystemTime::now())
}

fn make_folder(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make {}", path.display()))
}

#[cfg(test)]
mod tests;
