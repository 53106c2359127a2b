//! Registries that are pulled from in the place of others.

use std::{collections::BTreeMap, str::FromStr};

/// What would come from one registry comes from another, as `docker.io=mirror.example.com:5000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    registry: String,
    place: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no registry and its mirror; write docker.io=mirror.example.com:5000")]
pub struct NoMirror {
    text: String,
}

impl FromStr for Mirror {
    type Err = NoMirror;

    fn from_str(text: &str) -> Result<Self, NoMirror> {
        let plain = |host: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
            !host.is_empty() && host.chars().all(known)
        };
        match text.split_once('=') {
            Some((registry, place)) if plain(registry) && plain(place) => Ok(Self {
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
pub(crate) struct Mirrors(BTreeMap<String, String>);

impl Mirrors {
    pub(crate) fn of(&self, registry: &str) -> Option<&str> {
        self.0.get(registry).map(String::as_str)
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
    use super::*;

    #[test]
    fn a_mirror_is_a_registry_and_a_place() {
        let mirrors: Mirrors = ["docker.io=127.0.0.1:5000", "a.example=[::1]:1"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        assert_eq!(mirrors.of("docker.io"), Some("127.0.0.1:5000"));
        assert_eq!(mirrors.of("a.example"), Some("[::1]:1"));
        assert_eq!(mirrors.of("b.example"), None);
        for bad in ["", "docker.io", "docker.io=", "=a", "a=https://b", "a=b/c"] {
            assert!(bad.parse::<Mirror>().is_err(), "{bad}");
        }
    }
}
