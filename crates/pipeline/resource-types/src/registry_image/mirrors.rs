//! Settings of an administrator about registries: those asked in the place of others, and those
//! that the server must not ask.

use std::{collections::BTreeMap, str::FromStr};

use serde_json::Value;

use airside_oci::{Repository, is_registry_host, names_registry};

use crate::{
    Object,
    registry::{at_registry, read_repository},
};

/// Keys of a source that stay behind when a mirror is asked: it belongs to the administrator, and
/// gets no credentials.
const OF_THE_REGISTRY: &[&str] = &["username", "password", "registry_mirror", "ca_certs"];

/// Registries for images that steps run in.
#[derive(Clone, Debug, Default)]
pub struct Registries {
    pub mirrors: Mirrors,
    /// Their images are where steps run, put there by other means: their tags are taken as they
    /// are.
    pub on_nodes: Vec<String>,
}

impl Registries {
    pub fn is_on_nodes(&self, repository: &str) -> bool {
        let host = read_repository(repository).map(|repository| repository.host().to_owned());
        host.is_ok_and(|host| self.on_nodes.contains(&host))
    }
}

/// A registry that is asked in the place of another, as `docker.io=mirror.example.com:5000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    registry: String,
    place: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} does not name a registry and its mirror; write docker.io=mirror.example.com:5000"
)]
pub struct NoMirror {
    text: String,
}

impl FromStr for Mirror {
    type Err = NoMirror;

    fn from_str(text: &str) -> Result<Self, NoMirror> {
        // In a source's `repository`, other hosts would be read as parts of names.
        let is_host = |host: &str| names_registry(host) && is_registry_host(host);
        match text.split_once('=') {
            Some((registry, place)) if is_host(registry) && is_host(place) => Ok(Self {
                registry: registry.to_owned(),
                place: place.to_owned(),
            }),
            _ => Err(NoMirror {
                text: text.to_owned(),
            }),
        }
    }
}

/// All of them, by the registry they stand for; of two for one the last counts.
#[derive(Clone, Debug, Default)]
pub struct Mirrors(BTreeMap<String, String>);

impl Mirrors {
    /// Makes a source of `registry-image` name the mirror of its registry, if that has one.
    pub fn apply(&self, source: &mut Object) {
        let Some(Value::String(text)) = source.get("repository") else {
            return;
        };
        // The caller that asks for it reports one that cannot be read.
        let Ok(repository) = read_repository(text) else {
            return;
        };
        let Some(Ok(mirrored)) = self
            .of(&repository)
            .map(|place| at_registry(&repository, place))
        else {
            return;
        };
        let mirrored = Value::String(mirrored.familiar());
        source.insert("repository".to_owned(), mirrored);
        source
            .retain(|key, _| !OF_THE_REGISTRY.contains(&key.as_str()) && !key.starts_with("aws_"));
    }

    fn of(&self, repository: &Repository) -> Option<&str> {
        self.0.get(repository.host()).map(String::as_str)
    }
}

impl FromIterator<Mirror> for Mirrors {
    fn from_iter<T: IntoIterator<Item = Mirror>>(mirrors: T) -> Self {
        let pairs = mirrors.into_iter().map(|one| (one.registry, one.place));
        Self(pairs.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mirrored(mirrors: &Mirrors, source: Value) -> Value {
        let mut source = source.as_object().unwrap().clone();
        mirrors.apply(&mut source);
        Value::Object(source)
    }

    #[test]
    fn a_mirror_is_a_registry_and_a_place() {
        let mirrors: Mirrors = ["docker.io=127.0.0.1:5000", "a.example=[::1]:1"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        for (name, expected) in [
            ("x", "127.0.0.1:5000/library/x"),
            ("index.docker.io/x/y", "127.0.0.1:5000/x/y"),
            ("a.example/x", "[::1]:1/x"),
            ("b.example/x", "b.example/x"),
            ("NO NAME", "NO NAME"),
        ] {
            let found = mirrored(&mirrors, json!({"repository": name}));
            assert_eq!(found, json!({"repository": expected}), "{name}");
        }
        for bad in [
            "",
            "docker.io",
            "docker.io=",
            "=a",
            "a=https://b",
            "a=b/c",
            "docker.io=mirror",
        ] {
            assert!(bad.parse::<Mirror>().is_err(), "{bad}");
        }
    }

    #[test]
    fn credentials_stay_with_their_registry() {
        let mirrors: Mirrors = ["docker.io=m.example"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let secret = json!({"repository": "x", "tag": "t", "username": "u", "password": "p"});
        let expected = json!({"repository": "m.example/library/x", "tag": "t"});
        assert_eq!(mirrored(&mirrors, secret), expected);
        let elsewhere = json!({"repository": "b.example/x", "username": "u", "password": "p"});
        assert_eq!(mirrored(&mirrors, elsewhere.clone()), elsewhere);
    }

    #[test]
    fn some_registries_are_on_nodes_only() {
        let registries = Registries {
            on_nodes: vec!["airside.local".to_owned()],
            ..Registries::default()
        };
        for (name, expected) in [
            ("airside.local/busybox", true),
            ("airside.local.example/busybox", false),
            ("busybox", false),
            ("NO NAME", false),
        ] {
            assert_eq!(registries.is_on_nodes(name), expected, "{name}");
        }
    }
}
