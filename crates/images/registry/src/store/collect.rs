//! Garbage collection: manifests without a tag that no client asked for in a while go, then blobs
//! that no manifest names.
//!
//! A blob that was pushed or used within the grace period stays even if nothing refers to it: a
//! push sends blobs before their manifest.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use airside_oci::Digest;

use super::{
    Store,
    links::{Links, entries},
};
use crate::{Error, Tag, clock, manifest::Manifest};

/// Content that a repository keeps.
#[derive(Default)]
struct Kept {
    manifests: HashSet<Digest>,
    blobs: HashSet<Digest>,
}

impl Store {
    /// Removes what was not used for this long and is not referred to. Returns the number of
    /// manifests and blobs.
    pub(crate) fn collect(&self, unused_for: Duration) -> Result<u64, Error> {
        let before = clock::now().checked_sub(unused_for);
        let is_old = |time: SystemTime| before.is_some_and(|before| time < before);
        let _gate = self.gate.write();
        self.usage.forget();
        let (mut removed, mut kept) = (0, HashSet::new());
        for folder in repositories(&self.root.join("repositories"))? {
            removed += self.tidy(&Links::new(folder), is_old, &mut kept)?;
        }
        let blobs = self.root.join("blobs");
        for (name, time) in entries(&blobs)? {
            if is_old(time) && !kept.contains(name.as_str()) {
                let path = blobs.join(&name);
                fs::remove_file(&path).map_err(Error::at("remove", &path))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// One repository; adds the names of the blobs that it needs.
    fn tidy(
        &self,
        links: &Links,
        is_old: impl Fn(SystemTime) -> bool,
        needed: &mut HashSet<String>,
    ) -> Result<u64, Error> {
        let manifests = links.manifests()?;
        let young = manifests.iter().filter(|(_, time)| !is_old(*time));
        let mut roots: Vec<Digest> = young.map(|(digest, _)| digest.clone()).collect();
        for tag in links.tags()? {
            roots.extend(links.tag(&Tag::parse(&tag)?)?);
        }
        let kept = self.reach(links, roots)?;
        let mut removed = 0;
        for (digest, _) in manifests {
            if kept.manifests.contains(&digest) {
                needed.insert(digest.hex().to_owned());
                continue;
            }
            if let Some(manifest) = self.parsed(links, &digest)?
                && let Some(subject) = &manifest.subject
            {
                links.remove_referrer(subject, &digest)?;
            }
            links.remove_manifest(&digest)?;
            removed += 1;
        }
        for (digest, time) in links.blobs()? {
            if kept.blobs.contains(&digest) || !is_old(time) {
                needed.insert(digest.hex().to_owned());
            } else {
                links.remove_blob(&digest)?;
            }
        }
        Ok(removed)
    }

    /// Everything that these manifests need, and their referrers.
    fn reach(&self, links: &Links, mut roots: Vec<Digest>) -> Result<Kept, Error> {
        let mut kept = Kept::default();
        while let Some(digest) = roots.pop() {
            if !links.has_manifest(&digest) || !kept.manifests.insert(digest.clone()) {
                continue;
            }
            roots.extend(links.referrers(&digest)?);
            if let Some(manifest) = self.parsed(links, &digest)? {
                kept.blobs.extend(manifest.blobs);
                roots.extend(manifest.manifests);
            }
        }
        Ok(kept)
    }

    fn parsed(&self, links: &Links, digest: &Digest) -> Result<Option<Manifest>, Error> {
        let (Some(kind), Some(text)) = (links.media_type(digest)?, self.read_blob(digest)?) else {
            return Ok(None);
        };
        Manifest::parse(&text, &kind).map(Some)
    }
}

/// The folders of all repositories, and of those that only have some below them.
pub(super) fn repositories(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut found, mut pending) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = pending.pop() {
        let below = entries(&folder)?.into_iter();
        let below = below.filter(|(name, _)| !name.starts_with('_'));
        pending.extend(below.map(|(name, _)| folder.join(name)));
        found.push(folder);
    }
    Ok(found)
}
