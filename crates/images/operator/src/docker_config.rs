//! Pull secrets in the format of Kubernetes, and the choice of their login for an image.
//!
//! A key is a host, or a host and the beginning of a path (an organisation, a group); the most
//! specific key wins. Docker Hub has several names. This module reads no cluster.

use std::{collections::BTreeMap, fmt};

use airside_image_rules::PullLogin;
use airside_oci::Repository;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;

/// Content of `.dockerconfigjson`.
#[derive(Clone)]
pub(crate) struct DockerConfig {
    logins: Vec<(Place, PullLogin)>,
}

/// Host and path that a key is for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// Host of the registry. Its parts may be `*`.
    host: String,
    path: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadDockerConfig {
    // What is wrong with the text is not printed: the words could hold parts of it.
    #[error("it is not JSON as `kubectl create secret docker-registry` makes it")]
    Json,
    #[error("the login for {key:?} is neither a username with a password nor both in base64")]
    Login { key: String },
}

#[derive(Deserialize)]
struct Text {
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    auth: String,
}

impl DockerConfig {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, BadDockerConfig> {
        let text: Text = serde_json::from_slice(text).map_err(|_| BadDockerConfig::Json)?;
        let read = |(key, entry): (String, Entry)| match login(&entry) {
            Some(login) => Ok((Place::of(&key), login)),
            None => Err(BadDockerConfig::Login { key }),
        };
        let logins = text.auths.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { logins })
    }

    /// The one that says most about where the image is.
    pub(crate) fn login(&self, repository: &Repository) -> Option<&PullLogin> {
        let fitting = self
            .logins
            .iter()
            .filter(|(place, _)| place.holds(repository));
        let said = |place: &Place| {
            (
                place.path.len(),
                !place.host.contains('*'),
                place.host.len(),
            )
        };
        let best = fitting.max_by_key(|(place, _)| said(place));
        best.map(|(_, login)| login)
    }
}

fn login(entry: &Entry) -> Option<PullLogin> {
    if !entry.auth.is_empty() {
        let both = BASE64_STANDARD.decode(entry.auth.trim()).ok()?;
        let both = String::from_utf8(both).ok()?;
        let (username, password) = both.split_once(':')?;
        return Some(PullLogin {
            username: username.to_owned(),
            password: password.trim_end_matches('\0').to_owned(),
        });
    }
    (!entry.username.is_empty()).then(|| PullLogin {
        username: entry.username.clone(),
        password: entry.password.clone(),
    })
}

impl Place {
    fn of(key: &str) -> Self {
        let bare = key.split_once("://").map_or(key, |(_, rest)| rest);
        let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
        let path = path.trim_matches('/');
        // Paths by which the API version of old registries was given.
        let path = if matches!(path, "v1" | "v2") {
            ""
        } else {
            path
        };
        let host = match host {
            "index.docker.io" | "registry-1.docker.io" | "registry.hub.docker.com" => "docker.io",
            other => other,
        };
        Self {
            host: host.to_owned(),
            path: path.to_owned(),
        }
    }

    fn holds(&self, repository: &Repository) -> bool {
        let below = repository.name().strip_prefix(&self.path);
        let is_below = self.path.is_empty()
            || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_below && is_host(&self.host, repository.host())
    }
}

/// Matches hosts like a kubelet: `*` is one part of a name, and ports must be equal.
fn is_host(pattern: &str, host: &str) -> bool {
    let (patterns, parts) = (pattern.split('.'), host.split('.'));
    patterns.clone().count() == parts.clone().count()
        && patterns
            .zip(parts)
            .all(|(pattern, part)| match pattern.strip_prefix('*') {
                Some(rest) => part.ends_with(rest) && !(rest.is_empty() && part.contains(':')),
                None => pattern == part,
            })
}

impl fmt::Debug for DockerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.logins.iter().map(|(place, _)| place);
        f.debug_list().entries(places).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(keys: &[&str]) -> DockerConfig {
        let auths: BTreeMap<&str, _> = keys
            .iter()
            .map(|key| (*key, json!({"username": key, "password": "p"})))
            .collect();
        DockerConfig::parse(json!({"auths": auths}).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_key_that_says_most_wins() {
        for (keys, image, expected) in [
            (&["r.example"][..], "r.example/a", Some("r.example")),
            (&["r.example"], "r.example:5000/a", None),
            (
                &["r.example:5000"],
                "r.example:5000/a",
                Some("r.example:5000"),
            ),
            (
                &["r.example", "r.example/team"],
                "r.example/team/a",
                Some("r.example/team"),
            ),
            (
                &["r.example", "r.example/team"],
                "r.example/teams/a",
                Some("r.example"),
            ),
            (
                &["r.example/team/a"],
                "r.example/team/a",
                Some("r.example/team/a"),
            ),
            (&["r.example/team/a/b"], "r.example/team/a", None),
            (
                &["https://r.example/v2/"],
                "r.example/a",
                Some("https://r.example/v2/"),
            ),
            (
                &["https://index.docker.io/v1/"],
                "busybox",
                Some("https://index.docker.io/v1/"),
            ),
            (&["docker.io"], "a/b", Some("docker.io")),
            (
                &["docker.io/a", "registry-1.docker.io"],
                "a/b",
                Some("docker.io/a"),
            ),
            (&["*.example"], "r.example/a", Some("*.example")),
            (
                &["*.example", "r.example"],
                "r.example/a",
                Some("r.example"),
            ),
            (&["*.example"], "x.r.example/a", None),
            (&["other.example"], "r.example/a", None),
        ] {
            let image: Repository = image.parse().unwrap();
            let config = config(keys);
            let found = config.login(&image).map(|login| login.username.as_str());
            assert_eq!(found, expected, "{keys:?} {image}");
        }
    }

    #[test]
    fn both_ways_to_write_a_login() {
        let text = json!({"auths": {"r.example": {"auth": BASE64_STANDARD.encode("me:a:b")}}});
        let config = DockerConfig::parse(text.to_string().as_bytes()).unwrap();
        let login = config.login(&"r.example/a".parse().unwrap()).unwrap();
        assert_eq!(
            (login.username.as_str(), login.password.as_str()),
            ("me", "a:b")
        );
        assert!(!format!("{config:?}").contains("a:b"));
    }

    #[test]
    fn what_is_no_secret_of_that_kind() {
        for bad in [
            "",
            "{}",
            r#"{"auths": {"r": {}}}"#,
            r#"{"auths": {"r": {"auth": "%"}}}"#,
        ] {
            assert!(DockerConfig::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
