//! Reading a secret, whichever version of the key-value engine keeps it.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;

use super::api::Api;
use crate::{Error, Secret};

/// An engine and the folder that it is mounted under; a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    path: String,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

pub(super) fn read(
    api: &Api,
    token: &str,
    path: &str,
    mounts: Option<&Mutex<HashMap<String, Mount>>>,
) -> Result<Option<Secret>, Error> {
    let path = path.trim_matches('/');
    let known = mounts.and_then(|mounts| find(&mounts.lock(), path));
    let mount = match known {
        Some(mount) => mount,
        None => {
            let mount = read_mount(api, token, path)?;
            if let (Some(mounts), false) = (mounts, mount.path.is_empty()) {
                mounts.lock().insert(mount.path.clone(), mount.clone());
            }
            mount
        }
    };
    let answer = api.get(&mount.api_path(path), token)?;
    if answer.status == 404 {
        return Ok(None);
    }
    let body = answer.success(&format!("for the secret {path}"))?;
    Ok(secret(&body, mount.version))
}

/// The most particular mount that a path is under.
fn find(mounts: &HashMap<String, Mount>, path: &str) -> Option<Mount> {
    let under = mounts
        .values()
        .filter(|mount| format!("{path}/").starts_with(&mount.path));
    under.max_by_key(|mount| mount.path.len()).cloned()
}

/// Asks what is mounted there. Who may not know is answered as if by an old Vault, which knows
/// version 1 only.
fn read_mount(api: &Api, token: &str, path: &str) -> Result<Mount, Error> {
    let answer = api.get(&format!("sys/internal/ui/mounts/{path}"), token)?;
    if matches!(answer.status, 403 | 404) {
        return Ok(Mount {
            path: String::new(),
            version: Version::One,
        });
    }
    let body = answer.success(&format!("for the mount of {path}"))?;
    let version = body
        .pointer("/data/options/version")
        .and_then(Value::as_str);
    let path = body.pointer("/data/path").and_then(Value::as_str);
    let path = path.unwrap_or_default().trim_matches('/');
    Ok(Mount {
        path: match path {
            "" => String::new(),
            path => format!("{path}/"),
        },
        version: match version {
            Some("2") => Version::Two,
            _ => Version::One,
        },
    })
}

impl Mount {
    /// Returns the path of a secret in Vault's HTTP.
    fn api_path(&self, path: &str) -> String {
        match self.version {
            Version::One => path.to_owned(),
            Version::Two => {
                let within = path.strip_prefix(&self.path).unwrap_or_default();
                format!("{}data/{within}", self.path)
            }
        }
    }
}

/// The field `value` if there is one, else all of them. What was deleted is not there.
fn secret(body: &Value, version: Version) -> Option<Secret> {
    let data = match version {
        Version::One => body.get("data"),
        Version::Two => body.pointer("/data/data"),
    };
    let data = data.and_then(Value::as_object)?;
    let value = data.get("value").cloned();
    let lease = body.get("lease_duration").and_then(Value::as_u64);
    Some(Secret {
        value: value.unwrap_or_else(|| Value::Object(data.clone())),
        good_for: match version {
            // Well before the lease ends.
            Version::One => lease.map(|seconds| Duration::from_secs(seconds) / 2),
            Version::Two => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_put_where_the_engine_has_them() {
        let mount = |path: &str, version| Mount {
            path: path.to_owned(),
            version,
        };
        for (mount, path, expected) in [
            (mount("", Version::One), "concourse/a", "concourse/a"),
            (
                mount("concourse/", Version::One),
                "concourse/a",
                "concourse/a",
            ),
            (
                mount("concourse/", Version::Two),
                "concourse/a/b",
                "concourse/data/a/b",
            ),
            (mount("a/b/", Version::Two), "a/b/c", "a/b/data/c"),
            (mount("a/", Version::Two), "a", "a/data/"),
        ] {
            assert_eq!(mount.api_path(path), expected);
        }
        let mounts = ["a/", "a/b/", "ab/"].map(|path| (path.to_owned(), mount(path, Version::Two)));
        let mounts = HashMap::from(mounts);
        for (path, found) in [
            ("a/c", Some("a/")),
            ("a/b/c", Some("a/b/")),
            ("b/a", None),
            ("abc", None),
        ] {
            let under = find(&mounts, path);
            assert_eq!(
                under.as_ref().map(|mount| mount.path.as_str()),
                found,
                "{path}"
            );
        }
    }

    #[test]
    fn one_value_or_all_fields() {
        for (body, version, found) in [
            (
                json!({"data": {"value": "x", "y": 1}}),
                Version::One,
                Some(json!("x")),
            ),
            (
                json!({"data": {"a": "x"}}),
                Version::One,
                Some(json!({"a": "x"})),
            ),
            (json!({"data": null}), Version::One, None),
            (
                json!({"data": {"data": {"value": 1}}}),
                Version::Two,
                Some(json!(1)),
            ),
            (
                json!({"data": {"data": null, "metadata": {}}}),
                Version::Two,
                None,
            ),
        ] {
            assert_eq!(secret(&body, version).map(|secret| secret.value), found);
        }
        let leased = secret(&json!({"data": {}, "lease_duration": 60}), Version::One);
        assert_eq!(leased.unwrap().good_for, Some(Duration::from_secs(30)));
    }
}
