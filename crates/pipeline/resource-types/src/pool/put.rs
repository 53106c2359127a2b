//! `put`: claims, releases, adds and removes locks.
//!
//! The server decides: a push is taken only on top of the commit that was read, so that of two
//! pushes that claim one lock the second is refused. Every commit has a number of its own: two of
//! equal content at one moment would else be one commit, and both pushes would succeed.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    io::Write,
    path::Path,
    thread,
    time::Duration,
};

use super::{
    check::commit_version,
    locks::{LockAction, LockChange, LockStep},
    metadata,
    repository::{CloneDepth, PoolRepository},
    settings::{OutParams, Source},
};
use crate::{
    Failure, OutRequest, Part, Produced,
    git::{Purpose, Setting},
    log::say,
    request::read_with_warnings,
};

/// Number of failures in a row that are taken for passing trouble of the server.
const MOST_FAILURES: u32 = 5;
/// The longest pause after another push came first.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The author of commits, unless the source's `git_config` names one.
const AUTHOR: [(&str, &str); 2] = [
    ("user.name", "CI Pool Resource"),
    ("user.email", "ci-pool@localhost"),
];

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let mut source = Source::read(request.source, log)?;
    let params: OutParams = read_with_warnings(Part::Params, request.params, log)?;
    let action = params.action(src)?;
    let author = AUTHOR.map(|(name, value)| Setting {
        name: name.to_owned(),
        value: Some(value.to_owned()),
    });
    source.access.git_config.splice(0..0, author);
    let retry_delay = source.retry_delay;
    let repository = PoolRepository::new(source, Purpose::Step, log)?;
    repository.clone(CloneDepth::Latest, log)?;
    let mut put = Put {
        repository,
        action,
        retry_delay,
        failures: 0,
        said: String::new(),
    };
    let (lock, commit) = put.all(log)?;
    Ok(Produced {
        version: commit_version(&commit),
        metadata: metadata(Some(&lock), &put.repository.pool),
    })
}

struct Put {
    repository: PoolRepository,
    action: LockAction,
    retry_delay: Duration,
    /// Failures in a row.
    failures: u32,
    /// The wait that the log has already.
    said: String,
}

/// The lock and the commit that an action ended with.
type LockedCommit = (String, String);

impl Put {
    fn all(&mut self, log: &mut dyn Write) -> Result<LockedCommit, Failure> {
        loop {
            let tip = self.repository.tip(log)?;
            let locks = self.repository.locks(&tip, log)?;
            if !locks.exists && !self.makes_pools() {
                let words = format!(
                    "is {:?}, and the branch has no folder claimed or unclaimed in it",
                    self.repository.pool
                );
                return Err(Failure::source("pool", words));
            }
            match locks.step(&self.action, random())? {
                LockStep::Done(lock) => return Ok((lock, tip)),
                LockStep::Wait(words) => {
                    self.say_once(words, log);
                    thread::sleep(self.retry_delay);
                    self.update(log)?;
                    self.failures = 0;
                }
                LockStep::Change(change) => {
                    if let Some(commit) = self.change(&tip, &change, log)? {
                        return Ok((change.lock, commit));
                    }
                }
            }
        }
    }

    fn makes_pools(&self) -> bool {
        use LockAction::{Add, AddClaimed, Update};
        matches!(self.action, Add(..) | AddClaimed(..) | Update(..))
    }

    fn say_once(&mut self, words: String, log: &mut dyn Write) {
        if words != self.said {
            let pool = &self.repository.pool;
            say(log, &format!("pool {pool}: waiting for {words}"));
            self.said = words;
        }
    }

    /// Pushes a change; returns none if another push came first.
    fn change(
        &mut self,
        tip: &str,
        change: &LockChange,
        log: &mut dyn Write,
    ) -> Result<Option<String>, Failure> {
        let commit = self.repository.commit(tip, change, &message(change), log)?;
        let pool = &self.repository.pool;
        if commit == tip {
            say(
                log,
                &format!("pool {pool}: the lock {} is so already", change.lock),
            );
            return Ok(Some(commit));
        }
        if !self.repository.push(&commit, log)? {
            self.update(log)?;
            let now = self.repository.tip(log)?;
            // The push may have arrived, and its answer not.
            if !self.repository.leads_to(&commit, &now)? {
                if now == tip {
                    let refused =
                        Failure::said("the server refused a push on top of its latest commit");
                    self.tolerate(refused, log)?;
                } else {
                    self.failures = 0;
                    let pause = LONGEST_PAUSE.min(self.retry_delay);
                    thread::sleep(airside_model::scale_duration(pause, fraction()));
                }
                return Ok(None);
            }
        }
        say(
            log,
            &format!(
                "pool {}: {} {}",
                self.repository.pool, change.verb, change.lock
            ),
        );
        Ok(Some(commit))
    }

    /// Fetches what others pushed, through some trouble of the server.
    fn update(&mut self, log: &mut dyn Write) -> Result<(), Failure> {
        while let Err(failure) = self.repository.update(log) {
            self.tolerate(failure, log)?;
        }
        Ok(())
    }

    fn tolerate(&mut self, failure: Failure, log: &mut dyn Write) -> Result<(), Failure> {
        self.failures += 1;
        if self.failures >= MOST_FAILURES {
            return Err(failure);
        }
        say(
            log,
            &format!("{}; trying again", airside_model::chain(&failure)),
        );
        thread::sleep(self.retry_delay);
        Ok(())
    }
}

/// Returns the message of a commit: the change, the build that made it, and a number that no other
/// commit has.
fn message(change: &LockChange) -> String {
    let url = std::env::var("BUILD_URL").unwrap_or_default();
    let url: String = url.chars().filter(|c| !c.is_control()).take(1000).collect();
    let number = random();
    format!(
        "{}: {}\n\nBuild URL: {url}\nAttempt: {number:016x}\n",
        change.verb, change.lock
    )
}

/// Returns a number that differs between processes and calls: the seed of a hash table.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns a random number between 0 and 1.
fn fraction() -> f64 {
    f64::from(u32::try_from(random() >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}
