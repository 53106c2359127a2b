//! Growth of versions.

use serde::Deserialize;

use crate::{Failure, versions::Semver};

/// The change that params ask for; read by [`super::settings`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bump {
    pub(super) part: Option<Bumped>,
    pub(super) pre: Option<String>,
    pub(super) pre_without_version: bool,
    pub(super) build: Option<String>,
    pub(super) build_without_version: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bumped {
    Major,
    Minor,
    Patch,
    Final,
}

impl Bump {
    pub(super) fn is_nothing(&self) -> bool {
        self.part.is_none() && self.pre.is_none() && self.build.is_none()
    }

    /// The version after this one, or words where a number cannot grow any more.
    pub(super) fn apply(&self, mut version: Semver) -> Result<Semver, Failure> {
        match self.part {
            Some(Bumped::Major) => {
                version = Semver::of(next(version.major)?, 0, 0).built(version.build);
            }
            Some(Bumped::Minor) => {
                version = Semver::of(version.major, next(version.minor)?, 0).built(version.build);
            }
            Some(Bumped::Patch) => {
                let (major, minor, patch) = (version.major, version.minor, version.patch);
                version = Semver::of(major, minor, next(patch)?).built(version.build);
            }
            Some(Bumped::Final) => version.pre.clear(),
            None => {}
        }
        if let Some(pre) = &self.pre {
            version.pre = counted(&version.pre, pre, self.pre_without_version)?;
        }
        if let Some(build) = &self.build {
            let parts: Vec<String> = version.build.split('.').map(str::to_owned).collect();
            version.build = counted(&parts, build, self.build_without_version)?.join(".");
        }
        Ok(version)
    }
}

fn next(number: u64) -> Result<u64, Failure> {
    let larger = number.checked_add(1);
    larger.ok_or_else(|| {
        Failure::said(format!(
            "{number} is the largest number that a version can have"
        ))
    })
}

/// Returns the word with the next number, or with the first one.
fn counted(before: &[String], word: &str, without_number: bool) -> Result<Vec<String>, Failure> {
    if without_number {
        return Ok(vec![word.to_owned()]);
    }
    let number = match before {
        [same, number, ..] if same == word => number.parse::<u64>().map_or(Ok(1), next)?,
        _ => 1,
    };
    Ok(vec![word.to_owned(), number.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_grow_as_asked() {
        let bump = |part, pre: &str| Bump {
            part,
            pre: Some(pre.to_owned()).filter(|pre| !pre.is_empty()),
            ..Bump::default()
        };
        for (from, bump, to) in [
            ("1.2.3", bump(Some(Bumped::Major), ""), "2.0.0"),
            ("1.2.3-rc.1", bump(Some(Bumped::Minor), ""), "1.3.0"),
            ("1.2.3-rc.1", bump(Some(Bumped::Patch), ""), "1.2.4"),
            ("1.2.3-rc.1", bump(Some(Bumped::Final), ""), "1.2.3"),
            ("1.2.3", bump(None, "rc"), "1.2.3-rc.1"),
            ("1.2.3-rc.1", bump(None, "rc"), "1.2.3-rc.2"),
            ("1.2.3-alpha.7", bump(None, "rc"), "1.2.3-rc.1"),
            ("1.2.3", bump(Some(Bumped::Minor), "rc"), "1.3.0-rc.1"),
            ("1.2.3-rc.x", bump(None, "rc"), "1.2.3-rc.1"),
            ("1.2.3", Bump::default(), "1.2.3"),
        ] {
            let from = Semver::parse(from).unwrap();
            assert_eq!(bump.apply(from).unwrap().to_string(), to, "{bump:?}");
        }
        let snapshot = Bump {
            pre: Some("SNAPSHOT".to_owned()),
            pre_without_version: true,
            build: Some("b".to_owned()),
            ..Bump::default()
        };
        let once = snapshot.apply(Semver::parse("1.2.3").unwrap()).unwrap();
        assert_eq!(once.to_string(), "1.2.3-SNAPSHOT+b.1");
        let twice = snapshot.apply(once).unwrap();
        assert_eq!(twice.to_string(), "1.2.3-SNAPSHOT+b.2");
    }

    #[test]
    fn hostile_numbers_cannot_grow_and_say_so() {
        let most = u64::MAX;
        let pre = Bump {
            pre: Some("rc".to_owned()),
            ..Bump::default()
        };
        let part = |part| Bump {
            part: Some(part),
            ..Bump::default()
        };
        for (from, bump) in [
            (format!("{most}.0.0"), part(Bumped::Major)),
            (format!("0.{most}.0"), part(Bumped::Minor)),
            (format!("0.0.{most}"), part(Bumped::Patch)),
            (format!("0.0.0-rc.{most}"), pre),
        ] {
            let refused = bump.apply(Semver::parse(&from).unwrap());
            let words = refused.unwrap_err().to_string();
            assert!(words.contains("is the largest number"), "{from}: {words}");
        }
    }
}
