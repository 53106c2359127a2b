//! Settings of `pool` in `source` and `params`.

use std::{
    fs,
    io::{Read, Write},
    path::{Component, Path},
    time::Duration,
};

use airside_model::{chain, read_duration};
use serde::Deserialize;

use super::locks::{LockAction, is_lock_name};
use crate::{
    Failure, Object, Part,
    git::{Access, Setting, Tunnel},
    inspect::{Form, Forms, field_names},
    lenient::{flag, number, text},
    paths::inside,
    request::{read as read_settings, read_with_warnings},
};

const RETRY_DELAY: Duration = Duration::from_secs(10);
/// A shorter delay would only load the server.
const SHORTEST_DELAY: Duration = Duration::from_millis(50);
/// Maximum bytes of a lock's content, which describes its environment and is far shorter.
const MAX_CONTENT: u64 = 16 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(deserialize_with = "text")]
    uri: Option<String>,
    #[serde(deserialize_with = "text")]
    branch: Option<String>,
    #[serde(deserialize_with = "text")]
    pool: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key_user: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key_passphrase: Option<String>,
    #[serde(deserialize_with = "text")]
    known_hosts: Option<String>,
    #[serde(deserialize_with = "flag")]
    forward_agent: bool,
    #[serde(deserialize_with = "text")]
    username: Option<String>,
    #[serde(deserialize_with = "text")]
    password: Option<String>,
    #[serde(deserialize_with = "flag")]
    skip_ssl_verification: bool,
    git_config: Vec<Setting>,
    https_tunnel: Option<Tunnel>,
    #[serde(deserialize_with = "text")]
    retry_delay: Option<String>,
}

/// A source that was understood.
pub(super) struct Source {
    pub(super) access: Access,
    pub(super) branch: String,
    /// The pool's folder, without a slash at either end.
    pub(super) pool: String,
    pub(super) retry_delay: Duration,
}

impl Source {
    pub(super) fn read(object: Object, log: &mut dyn Write) -> Result<Self, Failure> {
        let written: Written = read_with_warnings(Part::Source, object, log)?;
        let missing = |key: &'static str| move || Failure::source(key, "is missing");
        let branch = written.branch.ok_or_else(missing("branch"))?;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if branch.starts_with('-') || branch.contains([':', '+']) || branch.contains(odd) {
            return Err(Failure::source("branch", "is not a name of a branch"));
        }
        let pool = written.pool.ok_or_else(missing("pool"))?;
        let access = Access {
            uri: Some(written.uri.ok_or_else(missing("uri"))?),
            private_key: written.private_key,
            private_key_user: written.private_key_user,
            private_key_passphrase: written.private_key_passphrase,
            known_hosts: written.known_hosts,
            forward_agent: written.forward_agent,
            username: written.username,
            password: written.password,
            skip_ssl_verification: written.skip_ssl_verification,
            git_config: written.git_config,
            https_tunnel: written.https_tunnel,
            ..Access::default()
        };
        Ok(Self {
            access,
            branch,
            pool: folder(&pool)?,
            retry_delay: delay(written.retry_delay.as_deref())?,
        })
    }
}

fn folder(pool: &str) -> Result<String, Failure> {
    let trimmed = pool.trim_matches('/');
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_path = Path::new(trimmed).components().all(plain) && !trimmed.contains("//");
    if trimmed.is_empty() || !is_path || trimmed.contains(char::is_control) {
        let words = format!("is {pool:?}, which is not a folder of a repository");
        return Err(Failure::source("pool", words));
    }
    Ok(trimmed.to_owned())
}

fn delay(text: Option<&str>) -> Result<Duration, Failure> {
    let Some(text) = text else {
        return Ok(RETRY_DELAY);
    };
    let delay = read_duration(text).map_err(|error| {
        let words = format!(
            "is {text:?}, which is not a time such as 30s: {}",
            chain(&error)
        );
        Failure::source("retry_delay", words)
    })?;
    Ok(if delay.is_zero() {
        RETRY_DELAY
    } else {
        delay.max(SHORTEST_DELAY)
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InParams {
    #[serde(deserialize_with = "number")]
    #[allow(
        dead_code,
        reason = "pipelines have it; only the lock is fetched anyway"
    )]
    depth: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutParams {
    #[serde(deserialize_with = "flag")]
    acquire: bool,
    #[serde(deserialize_with = "text")]
    claim: Option<String>,
    #[serde(deserialize_with = "text")]
    release: Option<String>,
    #[serde(deserialize_with = "text")]
    add: Option<String>,
    #[serde(deserialize_with = "text")]
    add_claimed: Option<String>,
    #[serde(deserialize_with = "text")]
    remove: Option<String>,
    #[serde(deserialize_with = "text")]
    update: Option<String>,
    #[serde(deserialize_with = "text")]
    check: Option<String>,
    #[serde(deserialize_with = "text")]
    check_unclaimed: Option<String>,
}

const ACTIONS: &str =
    "acquire, claim, release, add, add_claimed, remove, update, check or check_unclaimed";

impl OutParams {
    /// Returns the one action that is asked for, with what the inputs say of its lock.
    pub(super) fn action(self, src: &Path) -> Result<LockAction, Failure> {
        let acquire = self.acquire.then(|| ("acquire", String::new()));
        let given = [
            ("claim", self.claim),
            ("release", self.release),
            ("add", self.add),
            ("add_claimed", self.add_claimed),
            ("remove", self.remove),
            ("update", self.update),
            ("check", self.check),
            ("check_unclaimed", self.check_unclaimed),
        ];
        let given = given
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        let given: Vec<_> = acquire.into_iter().chain(given).collect();
        let [(key, value)] = &given[..] else {
            let words = format!("need one of {ACTIONS}, and have {}", given.len());
            return Err(Failure::said(format!("params {words}")));
        };
        let name = || read(key, value, "name", src).and_then(|text| lock_name(key, &text));
        let content = || read(key, value, "metadata", src);
        Ok(match *key {
            "acquire" => LockAction::Acquire,
            "claim" => LockAction::Claim(lock_name(key, value.as_bytes())?),
            "release" => LockAction::Release(name()?),
            "add" => LockAction::Add(name()?, content()?),
            "add_claimed" => LockAction::AddClaimed(name()?, content()?),
            "remove" => LockAction::Remove(name()?),
            "update" => LockAction::Update(name()?, content()?),
            "check" => LockAction::AwaitUnclaimed(name()?),
            _ => LockAction::AwaitClaimed(name()?),
        })
    }
}

fn lock_name(key: &str, text: &[u8]) -> Result<String, Failure> {
    let name = String::from_utf8_lossy(text).trim().to_owned();
    if is_lock_name(&name) {
        return Ok(name);
    }
    let shown: String = name.chars().take(80).collect();
    Err(Failure::params(
        key,
        format!("names the lock {shown:?}, which no lock may be called"),
    ))
}

/// Reads a file of the folder that a param names.
fn read(key: &str, folder: &str, name: &str, src: &Path) -> Result<Vec<u8>, Failure> {
    let path = inside(src, folder)?.join(name);
    let mut bytes = Vec::new();
    let read = fs::File::open(&path)
        .and_then(|file| file.take(MAX_CONTENT + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            let words = format!(
                "is {folder:?}, whose file {name:?} cannot be read: {}",
                chain(&error)
            );
            Failure::params(key, words)
        })?;
    if read as u64 > MAX_CONTENT {
        let words = format!("is {folder:?}, whose file {name:?} has more than {MAX_CONTENT} bytes");
        return Err(Failure::params(key, words));
    }
    Ok(bytes)
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Written>,
        read: |object| Source::read(object, &mut std::io::sink()).map(drop),
    },
    get: Form {
        keys: field_names::<InParams>,
        read: |object| read_settings::<InParams>(Part::Params, object).map(drop),
    },
    put: Form {
        keys: field_names::<OutParams>,
        read: |object| read_settings::<OutParams>(Part::Params, object).map(drop),
    },
};
