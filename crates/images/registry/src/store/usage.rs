//! Usage of teams' quota of the registry: the bytes of all blobs of their repositories, as often as
//! one has them.
//!
//! A sum is taken from the folders once, counts up with each blob, and is taken again after
//! something went.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use airside_model::{Quota, QuotaExceeded, Quotas};
use parking_lot::Mutex;

use super::{collect::repositories, links::Links};
use crate::{Error, RepositoryName, team_repository};

/// Number of the biggest repositories that are named.
const NAMED: usize = 3;

#[derive(Default)]
pub(crate) struct Usage {
    quotas: Quotas,
    known: Mutex<HashMap<RepositoryName, u64>>,
}

impl Usage {
    pub(crate) fn new(quotas: Quotas) -> Self {
        Self {
            quotas,
            known: Mutex::default(),
        }
    }

    /// Counts a blob that the repository is about to have, if its team may.
    pub(super) fn admit(
        &self,
        root: &Path,
        repository: &RepositoryName,
        bytes: u64,
    ) -> Result<(), Error> {
        let Some((team, own, limit)) = self.limit(repository) else {
            return Ok(());
        };
        let mut known = self.known.lock();
        let used = match known.get(&own) {
            Some(used) => *used,
            None => sum(root, &own)?.iter().map(|(_, bytes)| bytes).sum(),
        };
        if used.saturating_add(bytes) > limit {
            let mut users = sum(root, &own)?;
            users.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            users.truncate(NAMED);
            return Err(Error::Quota(Box::new(QuotaExceeded {
                team,
                quota: Quota::Registry,
                limit,
                used,
                wanted: bytes,
                users,
            })));
        }
        known.insert(own, used + bytes);
        Ok(())
    }

    /// The bytes that a team uses.
    pub(super) fn of(&self, root: &Path, team: &str) -> Result<u64, Error> {
        let own = team_repository(team);
        let mut known = self.known.lock();
        if let Some(used) = known.get(&own) {
            return Ok(*used);
        }
        let used = sum(root, &own)?.iter().map(|(_, bytes)| bytes).sum();
        known.insert(own, used);
        Ok(used)
    }

    /// Says that something went.
    pub(super) fn forget(&self) {
        self.known.lock().clear();
    }

    /// The team of a repository, its part of the registry, and its limit.
    fn limit(&self, repository: &RepositoryName) -> Option<(String, RepositoryName, u64)> {
        let named = self.quotas.teams().find_map(|team| {
            let own = team_repository(team);
            own.holds(repository).then(|| (team.to_owned(), own))
        });
        let (team, own) = named.or_else(|| {
            let mut parts = repository.as_str().splitn(3, '/');
            let (first, team) = (parts.next()?, parts.next()?);
            let own = RepositoryName::parse(&format!("{first}/{team}")).ok()?;
            Some((team.to_owned(), own))
        })?;
        let limit = self.quotas.limit(&team, Quota::Registry)?;
        Some((team, own, limit))
    }
}

/// The repositories below a name, each with the bytes of its blobs.
fn sum(root: &Path, own: &RepositoryName) -> Result<Vec<(String, u64)>, Error> {
    let all = root.join("repositories");
    let place = all.join(own.as_str());
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let shown = |folder: &PathBuf| {
        let name = folder.strip_prefix(&all).unwrap_or(folder);
        name.to_string_lossy().into_owned()
    };
    let mut sums = Vec::new();
    for folder in repositories(&place)? {
        let mut bytes = 0;
        for (digest, _) in Links::new(folder.clone()).blobs()? {
            let found = fs::metadata(root.join("blobs").join(digest.hex()));
            bytes += found.map_or(0, |found| found.len());
        }
        sums.push((shown(&folder), bytes));
    }
    Ok(sums)
}
