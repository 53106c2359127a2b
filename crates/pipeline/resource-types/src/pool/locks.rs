//! The locks of a pool, and what an action changes: no I/O.

use std::collections::BTreeMap;

use crate::Failure;

/// Number of names that a line of the log has.
const MOST_SHOWN: usize = 10;

pub(super) const CLAIMED: &str = "claimed";
pub(super) const UNCLAIMED: &str = "unclaimed";

/// An action of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LockAction {
    Acquire,
    Claim(String),
    Release(String),
    Add(String, Vec<u8>),
    AddClaimed(String, Vec<u8>),
    Remove(String),
    Update(String, Vec<u8>),
    AwaitUnclaimed(String),
    AwaitClaimed(String),
}

/// A lock's file in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LockFile {
    /// `100644` or `100755`.
    pub(super) mode: String,
    /// Name of its content in the repository.
    pub(super) hash: String,
}

/// The locks of a pool in one commit, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PoolLocks {
    pub(super) claimed: BTreeMap<String, LockFile>,
    pub(super) unclaimed: BTreeMap<String, LockFile>,
    /// False if the commit has neither of the pool's folders.
    pub(super) exists: bool,
}

/// The next step of an action.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LockStep {
    /// Look again later; the words say what for.
    Wait(String),
    /// All is as it should be.
    Done(String),
    Change(LockChange),
}

/// A change that a commit makes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LockChange {
    pub(super) lock: String,
    /// The commit's message: a verb.
    pub(super) verb: &'static str,
    /// Folder that the lock leaves, and its file there.
    pub(super) from: Option<(&'static str, LockFile)>,
    pub(super) to: Option<(&'static str, NewContent)>,
}

/// The content of a lock after a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NewContent {
    Kept(LockFile),
    Written(Vec<u8>),
}

/// Returns true if a lock may be called this: one part of a path, and not a hidden one.
pub(super) fn is_lock_name(name: &str) -> bool {
    let odd = |c: char| c == '/' || c.is_control() || c == '\u{fffd}';
    !name.is_empty() && name.len() <= 255 && !name.starts_with('.') && !name.contains(odd)
}

impl PoolLocks {
    /// Finds the next step of an action; `random` picks among free locks.
    pub(super) fn step(&self, action: &LockAction, random: u64) -> Result<LockStep, Failure> {
        match action {
            LockAction::Acquire => Ok(self.acquire(random)),
            LockAction::Claim(name) => Ok(self.claim(name)),
            LockAction::Release(name) => self.move_claimed(name, "unclaiming", Some(UNCLAIMED)),
            LockAction::Remove(name) => self.move_claimed(name, "removing", None),
            LockAction::Add(name, content) => self.add(name, content, UNCLAIMED),
            LockAction::AddClaimed(name, content) => self.add(name, content, CLAIMED),
            LockAction::Update(name, content) => Ok(self.update(name, content)),
            LockAction::AwaitUnclaimed(name) => self.wait(name, CLAIMED, UNCLAIMED),
            LockAction::AwaitClaimed(name) => self.wait(name, UNCLAIMED, CLAIMED),
        }
    }

    fn folder(&self, name: &str) -> &BTreeMap<String, LockFile> {
        if name == CLAIMED {
            &self.claimed
        } else {
            &self.unclaimed
        }
    }

    fn acquire(&self, random: u64) -> LockStep {
        let count = self.unclaimed.len() as u64;
        let index = random.checked_rem(count).unwrap_or_default();
        match usize::try_from(index)
            .ok()
            .and_then(|index| self.unclaimed.keys().nth(index))
        {
            Some(name) => self.claim(name),
            None if self.claimed.is_empty() => {
                LockStep::Wait("a lock, of which the pool has none".to_owned())
            }
            None => LockStep::Wait(format!("a lock to be released: {} claimed", self.shown())),
        }
    }

    /// The names of claimed locks, with a verb.
    fn shown(&self) -> String {
        let names: Vec<&str> = self
            .claimed
            .keys()
            .take(MOST_SHOWN)
            .map(String::as_str)
            .collect();
        let more = self.claimed.len() - names.len();
        match (more, names.len()) {
            (0, 1) => format!("{} is", names[0]),
            (0, _) => format!("{} are", names.join(", ")),
            (more, _) => format!("{} and {more} more are", names.join(", ")),
        }
    }

    fn claim(&self, name: &str) -> LockStep {
        match self.unclaimed.get(name) {
            Some(file) => LockStep::Change(moved(name, "claiming", file, UNCLAIMED, Some(CLAIMED))),
            None if self.claimed.contains_key(name) => {
                LockStep::Wait(format!("the lock {name} to be released"))
            }
            None => LockStep::Wait(format!("the lock {name} to be added: the pool has none")),
        }
    }

    fn move_claimed(
        &self,
        name: &str,
        verb: &'static str,
        to: Option<&'static str>,
    ) -> Result<LockStep, Failure> {
        match self.claimed.get(name) {
            Some(file) => Ok(LockStep::Change(moved(name, verb, file, CLAIMED, to))),
            None if self.unclaimed.contains_key(name) => {
                Err(Failure::said(format!("the lock {name} is not claimed")))
            }
            None => Err(missing(name)),
        }
    }

    fn add(&self, name: &str, content: &[u8], to: &'static str) -> Result<LockStep, Failure> {
        let (verb, other) = if to == CLAIMED {
            ("adding claimed", UNCLAIMED)
        } else {
            ("adding unclaimed", CLAIMED)
        };
        if self.folder(other).contains_key(name) {
            let words = format!("there is a lock {name} already, and it is {other}");
            return Err(Failure::said(words));
        }
        Ok(written(name, verb, content, to))
    }

    fn update(&self, name: &str, content: &[u8]) -> LockStep {
        if self.claimed.contains_key(name) {
            return LockStep::Wait(format!("the lock {name} to be released"));
        }
        let verb = if self.unclaimed.contains_key(name) {
            "updating"
        } else {
            "adding unclaimed"
        };
        written(name, verb, content, UNCLAIMED)
    }

    fn wait(&self, name: &str, while_in: &str, until_in: &str) -> Result<LockStep, Failure> {
        if self.folder(while_in).contains_key(name) {
            Ok(LockStep::Wait(format!("the lock {name} to be {until_in}")))
        } else if self.folder(until_in).contains_key(name) {
            Ok(LockStep::Done(name.to_owned()))
        } else {
            Err(missing(name))
        }
    }
}

fn missing(name: &str) -> Failure {
    Failure::said(format!("the pool has no lock {name}"))
}

fn moved(
    name: &str,
    verb: &'static str,
    file: &LockFile,
    from: &'static str,
    to: Option<&'static str>,
) -> LockChange {
    LockChange {
        lock: name.to_owned(),
        verb,
        from: Some((from, file.clone())),
        to: to.map(|folder| (folder, NewContent::Kept(file.clone()))),
    }
}

fn written(name: &str, verb: &'static str, content: &[u8], to: &'static str) -> LockStep {
    LockStep::Change(LockChange {
        lock: name.to_owned(),
        verb,
        from: None,
        to: Some((to, NewContent::Written(content.to_vec()))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(claimed: &[&str], unclaimed: &[&str]) -> PoolLocks {
        let folder = |names: &[&str]| {
            let lock = |name: &&str| {
                let (mode, hash) = ("100644".to_owned(), format!("hash-of-{name}"));
                ((*name).to_owned(), LockFile { mode, hash })
            };
            names.iter().map(lock).collect()
        };
        PoolLocks {
            claimed: folder(claimed),
            unclaimed: folder(unclaimed),
            exists: true,
        }
    }

    fn shown(step: Result<LockStep, Failure>) -> String {
        match step {
            Err(failure) => format!("error: {failure}"),
            Ok(LockStep::Wait(words)) => format!("wait for {words}"),
            Ok(LockStep::Done(lock)) => format!("done: {lock}"),
            Ok(LockStep::Change(change)) => {
                let from = change.from.map_or("-", |(folder, _)| folder);
                let to = change.to.map_or("-", |(folder, _)| folder);
                format!("{} {}: {from} to {to}", change.verb, change.lock)
            }
        }
    }

    #[test]
    fn actions_change_what_they_may() {
        let named = |action: fn(String) -> LockAction| action("a".to_owned());
        let with = |action: fn(String, Vec<u8>) -> LockAction| action("a".to_owned(), Vec::new());
        let (free, taken, none) = (pool(&[], &["a"]), pool(&["a"], &[]), pool(&[], &[]));
        for (action, in_free, in_taken, in_none) in [
            (
                LockAction::Acquire,
                "claiming a: unclaimed to claimed",
                "wait for a lock to be released: a is claimed",
                "wait for a lock, of which the pool has none",
            ),
            (
                named(LockAction::Claim),
                "claiming a: unclaimed to claimed",
                "wait for the lock a to be released",
                "wait for the lock a to be added: the pool has none",
            ),
            (
                named(LockAction::Release),
                "error: the lock a is not claimed",
                "unclaiming a: claimed to unclaimed",
                "error: the pool has no lock a",
            ),
            (
                named(LockAction::Remove),
                "error: the lock a is not claimed",
                "removing a: claimed to -",
                "error: the pool has no lock a",
            ),
            (
                with(LockAction::Add),
                "adding unclaimed a: - to unclaimed",
                "error: there is a lock a already, and it is claimed",
                "adding unclaimed a: - to unclaimed",
            ),
            (
                with(LockAction::AddClaimed),
                "error: there is a lock a already, and it is unclaimed",
                "adding claimed a: - to claimed",
                "adding claimed a: - to claimed",
            ),
            (
                with(LockAction::Update),
                "updating a: - to unclaimed",
                "wait for the lock a to be released",
                "adding unclaimed a: - to unclaimed",
            ),
            (
                named(LockAction::AwaitUnclaimed),
                "done: a",
                "wait for the lock a to be unclaimed",
                "error: the pool has no lock a",
            ),
            (
                named(LockAction::AwaitClaimed),
                "wait for the lock a to be claimed",
                "done: a",
                "error: the pool has no lock a",
            ),
        ] {
            for (locks, expected) in [(&free, in_free), (&taken, in_taken), (&none, in_none)] {
                assert_eq!(shown(locks.step(&action, 7)), expected, "{action:?}");
            }
        }
    }

    #[test]
    fn any_free_lock_may_be_acquired() {
        let locks = pool(&["x"], &["a", "b", "c"]);
        let mut found: Vec<_> = (u64::MAX - 2..=u64::MAX)
            .map(|random| shown(locks.step(&LockAction::Acquire, random)))
            .collect();
        found.sort();
        let expected = ["a", "b", "c"].map(|name| format!("claiming {name}: unclaimed to claimed"));
        assert_eq!(found, expected);
        let names: Vec<String> = (10..25).map(|number| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let words = shown(pool(&names, &[]).step(&LockAction::Acquire, 0));
        assert!(words.ends_with("18, 19 and 5 more are claimed"), "{words}");
    }

    #[test]
    fn names_of_locks_are_one_part_of_a_path() {
        for (name, fine) in [
            ("env-1", true),
            ("a b", true),
            ("-x", true),
            ("", false),
            (".gitkeep", false),
            ("..", false),
            ("a/b", false),
            ("a\nb", false),
        ] {
            assert_eq!(is_lock_name(name), fine, "{name:?}");
        }
    }
}
