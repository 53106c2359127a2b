//! The teams that may have an image that is here: every team if it was pulled without a login, else
//! the teams that their own login got it for.
//!
//! A digest is not a secret: versions show it. So the registry is asked for each team once, and
//! only the registry that the image came from: any other would say what its owner likes, and must
//! give the whole image instead.

use std::{collections::BTreeSet, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Error, Scratch, layout::parse, registry::Image};

const FILE: &str = "proofs.json";
/// Number of teams, and of repositories, that are noted: more than any image has. For others the
/// registry is asked again.
const MAX_ENTRIES: usize = 10_000;

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proofs {
    /// True if a registry gave it without a login.
    #[serde(default)]
    anybody: bool,
    /// The teams that a registry gave it to.
    #[serde(default)]
    teams: BTreeSet<String>,
    /// The repositories that it came from.
    #[serde(default)]
    repositories: BTreeSet<String>,
}

/// The access of a team to an image that is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageAccess {
    Proved,
    /// The registry that the image came from decides.
    AskRegistry,
    /// The whole image is the only proof.
    Fetch,
}

impl Proofs {
    /// Reads those of the image in `dir`; an image without any has none.
    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(FILE);
        match fs::read(&path) {
            Ok(text) => parse(&text, FILE),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::disk(&path)(error)),
        }
    }

    /// Writes those of the image in `dir`, by way of a folder that no other process writes to.
    pub(crate) fn write(&self, dir: &Path, scratch: &Scratch) -> Result<(), Error> {
        let (path, new) = (dir.join(FILE), scratch.0.join("proofs.new"));
        let text = serde_json::to_vec(self).map_err(io::Error::other);
        text.and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(Error::disk(&path))
    }

    pub(crate) fn access(&self, team: &str, image: &Image) -> ImageAccess {
        if self.anybody || self.teams.contains(team) {
            return ImageAccess::Proved;
        }
        if self.repositories.contains(&image.repository()) {
            ImageAccess::AskRegistry
        } else {
            ImageAccess::Fetch
        }
    }

    /// Notes that the image's registry gave it to the team.
    pub(crate) fn add(&mut self, team: &str, image: &Image) {
        if !image.has_login() {
            self.anybody = true;
        } else if self.teams.len() < MAX_ENTRIES {
            self.teams.insert(team.to_owned());
        }
        if self.repositories.len() < MAX_ENTRIES {
            self.repositories.insert(image.repository());
        }
    }
}

#[cfg(test)]
mod tests {
    use airside_resource_types::Mirrors;
    use serde_json::json;

    use super::*;

    fn image(name: &str, login: bool) -> Image {
        let source = if login {
            json!({"username": "u", "password": "p"})
        } else {
            json!({})
        };
        Image::parse(name, source.as_object().unwrap(), &Mirrors::default()).unwrap()
    }

    #[test]
    fn hostile_teams_prove_nothing_by_their_own_registries() {
        let (private, elsewhere) = (image("a.example/x", true), image("evil.example/x", false));
        let mut proofs = Proofs::default();
        assert_eq!(proofs.access("own", &private), ImageAccess::Fetch);
        proofs.add("own", &private);
        assert_eq!(proofs.access("own", &private), ImageAccess::Proved);
        assert_eq!(proofs.access("own", &elsewhere), ImageAccess::Proved);
        assert_eq!(proofs.access("other", &private), ImageAccess::AskRegistry);
        let without = image("a.example/x", false);
        assert_eq!(proofs.access("other", &without), ImageAccess::AskRegistry);
        assert_eq!(proofs.access("other", &elsewhere), ImageAccess::Fetch);
        proofs.add("third", &elsewhere);
        assert_eq!(proofs.access("other", &private), ImageAccess::Proved);
    }

    #[test]
    fn proofs_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Proofs::read(folder.path()).unwrap(), Proofs::default());
        let mut proofs = Proofs::default();
        proofs.add("own", &image("a.example/x", true));
        let scratch = Scratch(folder.path().join("scratch"));
        fs::create_dir(&scratch.0).unwrap();
        proofs.write(folder.path(), &scratch).unwrap();
        assert_eq!(Proofs::read(folder.path()).unwrap(), proofs);
    }
}
