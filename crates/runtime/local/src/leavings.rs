//! Finds and removes what servers and runs left on this machine that were killed.
//!
//! A server that was killed may come back, and follows its steps again; so only what cannot be
//! followed again is taken for left: things of an `airside run`, of a data folder that was removed,
//! and of a server without steps.

use std::{
    fmt,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use airside_model::{Handle, InstallationId, chain};
use rustix::fs::{FlockOperation, fcntl_lock};
use tracing::{info, warn};

use crate::{
    Error, cgroup,
    container::ContainerDir,
    network,
    presence::{self, Dead, Here},
    remove,
};

/// The beginning of the names of folders that `airside run` makes for itself.
pub const RUN_FOLDER: &str = "airside-run-";
/// The file in a data folder that its server holds locked.
pub const DATA_LOCK: &str = "lock";
/// A folder without a lock is being made, unless it is as old as this.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The reason for which an installation counts as over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server was an `airside run`, to which nothing comes back.
    Run,
    /// The server's data folder was removed.
    Gone,
    /// The server was killed, and no step of it is left.
    Idle,
    /// The server is stopped and may come back to its steps.
    Stopped,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "an `airside run` that was killed",
            Self::Gone => "its data folder was removed",
            Self::Idle => "its server was killed, and has no steps",
            Self::Stopped => "its server is stopped, and may come back to its steps",
        })
    }
}

/// One thing that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    Container(Handle),
    ControlGroups,
    NetworkRules,
    Folder(PathBuf),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container(handle) => write!(f, "container {handle} with its processes"),
            Self::ControlGroups => f.write_str("control groups"),
            Self::NetworkRules => f.write_str("network rules"),
            Self::Folder(path) => write!(f, "folder {}", path.display()),
        }
    }
}

/// All that one dead installation left. Its server cannot come back while this value lives.
#[derive(Debug)]
pub struct Leavings {
    pub installation: Option<InstallationId>,
    pub why: Why,
    root: PathBuf,
    temporary: Option<PathBuf>,
    _hold: Hold,
}

/// The lock that keeps the installation's server away meanwhile.
#[derive(Debug)]
enum Hold {
    Presence(#[allow(dead_code, reason = "locked for as long as it lives")] Dead),
    Data(#[allow(dead_code, reason = "locked for as long as it lives")] Option<File>),
}

/// Finds the leavings of all dead installations of this machine, and of dead runs below
/// `temporary`; those of stopped servers are among them. `own` is the folder of this process, whose
/// lock must not even be looked at.
pub fn leavings(temporary: &Path, own: Option<&Path>) -> impl Iterator<Item = Leavings> + use<> {
    let listed = presence::folder().into_iter();
    let listed = listed.flat_map(|folder| {
        presence::dead_in(&folder)
            .map(Leavings::of_dead)
            .collect::<Vec<_>>()
    });
    listed.chain(dead_runs(temporary, own))
}

/// Removes what cannot be of use to anyone, and says so in the log.
pub(crate) fn sweep(own: Option<&Path>) {
    let all = leavings(&std::env::temp_dir(), own);
    for left in all.filter(|left| left.why != Why::Stopped) {
        let installation = left.installation.clone();
        let installation = installation
            .as_ref()
            .map_or("unknown", InstallationId::as_str);
        info!(installation, reason = %left.why, "leavings of a dead server found");
        for (thing, removed) in left.remove() {
            if let Err(error) = removed {
                warn!(
                    installation, %thing, error = %chain(&error),
                    "leavings of a dead server not removed"
                );
            }
        }
    }
}

impl Leavings {
    fn of_dead(dead: Dead) -> Self {
        let Here {
            root, temporary, ..
        } = dead.here.clone();
        Self {
            installation: Some(dead.installation.clone()),
            why: why(&dead),
            root,
            temporary,
            _hold: Hold::Presence(dead),
        }
    }

    /// Lists what is there.
    pub fn things(&self) -> Vec<Thing> {
        let mut things: Vec<Thing> = self.containers().map(Thing::Container).collect();
        if let Some(installation) = &self.installation {
            if cgroup::exist(installation) {
                things.push(Thing::ControlGroups);
            }
            if network::is_set_up(installation) {
                things.push(Thing::NetworkRules);
            }
        }
        let folder = self.temporary.iter().filter(|folder| folder.exists());
        things.extend(folder.cloned().map(Thing::Folder));
        things
    }

    /// Removes all of it, and says what became of each thing.
    pub fn remove(self) -> Vec<(Thing, Result<(), Error>)> {
        let things = self.things().into_iter();
        let outcomes: Vec<_> = things
            .map(|thing| {
                let removed = self.remove_thing(&thing);
                (thing, removed)
            })
            .collect();
        // What could not be removed is found again by the list.
        if outcomes.iter().all(|(_, removed)| removed.is_ok())
            && let Some(installation) = &self.installation
        {
            presence::leave(installation);
        }
        outcomes
    }

    fn remove_thing(&self, thing: &Thing) -> Result<(), Error> {
        match (thing, &self.installation) {
            (Thing::Container(handle), _) => self.remove_container(handle),
            (Thing::ControlGroups, Some(installation)) => {
                cgroup::remove_all(installation).map_err(Error::disk(Path::new("/sys/fs/cgroup")))
            }
            (Thing::NetworkRules, Some(installation)) => {
                network::take_down(installation);
                Ok(())
            }
            (Thing::Folder(folder), _) => {
                airside_archive::remove(folder).map_err(Error::disk(folder))
            }
            (Thing::ControlGroups | Thing::NetworkRules, None) => Ok(()),
        }
    }

    fn remove_container(&self, handle: &Handle) -> Result<(), Error> {
        let dir = ContainerDir::new(&self.root.join("containers"), handle)?;
        let _lock = dir.lock()?;
        let record = dir.record()?.map(|record| record.installation);
        match record.or_else(|| self.installation.clone()) {
            Some(installation) => remove::container(&dir, &installation, handle),
            None => airside_archive::remove(dir.path()).map_err(Error::disk(dir.path())),
        }
    }

    fn containers(&self) -> impl Iterator<Item = Handle> + use<> {
        containers(&self.root)
    }
}

fn containers(root: &Path) -> impl Iterator<Item = Handle> + use<> {
    let entries = fs::read_dir(root.join("containers")).into_iter().flatten();
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(Handle::new)
}

fn why(dead: &Dead) -> Why {
    if dead.here.temporary.is_some() {
        Why::Run
    } else if dead.here.is_gone() {
        Why::Gone
    } else if containers(&dead.here.root).next().is_none() && !cgroup::is_in_use(&dead.installation)
    {
        Why::Idle
    } else {
        Why::Stopped
    }
}

/// Folders of runs that were killed before they could enter themselves in the list, or could not.
fn dead_runs(parent: &Path, own: Option<&Path>) -> impl Iterator<Item = Leavings> + use<> {
    let own = own.and_then(Path::file_name).map(ToOwned::to_owned);
    let user = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let name = entry.file_name();
        let ours = name.to_str()?.starts_with(RUN_FOLDER)
            && own.as_ref() != Some(&name)
            && entry.file_type().ok()?.is_dir()
            && entry.metadata().ok()?.uid() == user;
        let lock = ours.then(|| lock_dead_run(&entry.path()))?.ok()?;
        let root = entry.path().join("runtime");
        let first = containers(&root).next();
        let record = first
            .and_then(|handle| ContainerDir::new(&root.join("containers"), &handle).ok())
            .and_then(|dir| dir.record().ok().flatten());
        Some(Leavings {
            installation: record.map(|record| record.installation),
            why: Why::Run,
            root,
            temporary: Some(entry.path()),
            _hold: Hold::Data(lock),
        })
    })
}

/// Takes the lock of a run's folder. A folder without one is dead when it is old.
fn lock_dead_run(folder: &Path) -> io::Result<Option<File>> {
    let mut options = fs::OpenOptions::new();
    match options.write(true).open(folder.join(DATA_LOCK)) {
        Ok(lock) => {
            fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            Ok(Some(lock))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let changed = fs::metadata(folder)?.modified()?;
            if age(changed) > ABANDONED {
                Ok(None)
            } else {
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
        Err(error) => Err(error),
    }
}

fn age(changed: SystemTime) -> Duration {
    changed.elapsed().unwrap_or_default()
}

#[cfg(test)]
mod tests;
