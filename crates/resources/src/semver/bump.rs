//! How versions grow.

use serde::Deserialize;

use crate::versions::Semver;

/// What params ask for; read from them by [`super::settings`].
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

    pub(super) fn apply(&self, mut version: Semver) -> Semver {
        match self.part {
            Some(Bumped::Major) => {
                version = Semver::of(version.major + 1, 0, 0).built(version.build)
            }
            Some(Bumped::Minor) => {
                version = Semver::of(version.major, version.minor + 1, 0).built(version.build);
            }
            Some(Bumped::Patch) => {
                let (major, minor, patch) = (version.major, version.minor, version.patch);
                version = Semver::of(major, minor, patch + 1).built(version.build);
            }
            Some(Bumped::Final) => version.pre.clear(),
            None => {}
        }
        if let Some(pre) = &self.pre {
            version.pre = counted(&version.pre, pre, self.pre_without_version);
        }
        if let Some(build) = &self.build {
            let parts: Vec<String> = version.build.split('.').map(str::to_owned).collect();
            version.build = counted(&parts, build, self.build_without_version).join(".");
        }
        version
    }
}

/// The same word with the next number, or the word with the first.
fn counted(before: &[String], word: &str, without_number: bool) -> Vec<String> {
    if without_number {
        return vec![word.to_owned()];
    }
    let number = match before {
        [same, number, ..] if same == word => number.parse::<u64>().map_or(1, |number| number + 1),
        _ => 1,
    };
    vec![word.to_owned(), number.to_string()]
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
            assert_eq!(bump.apply(from).to_string(), to, "{bump:?}");
        }
        let snapshot = Bump {
            pre: Some("SNAPSHOT".to_owned()),
            pre_without_version: true,
            build: Some("b".to_owned()),
            ..Bump::default()
        };
        let once = snapshot.apply(Semver::parse("1.2.3").unwrap());
        assert_eq!(once.to_string(), "1.2.3-SNAPSHOT+b.1");
        assert_eq!(snapshot.apply(once).to_string(), "1.2.3-SNAPSHOT+b.2");
    }
}
