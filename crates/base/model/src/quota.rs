//! Quotas: the limits of what a team may use, and the words for a team that uses more.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::Bytes;

/// One thing that is counted for each team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quota {
    /// Bytes of artifacts and caches.
    Volumes,
    /// Bytes of build logs, before they are compressed.
    Logs,
    /// Bytes of images in the server's registry.
    Registry,
    Pipelines,
    /// Resources of all pipelines together.
    Resources,
    /// Versions of each resource.
    Versions,
    /// Containers that run or are kept.
    Containers,
}

impl Quota {
    pub const ALL: [Self; 7] = [
        Self::Volumes,
        Self::Logs,
        Self::Registry,
        Self::Pipelines,
        Self::Resources,
        Self::Versions,
        Self::Containers,
    ];

    /// The name in settings, messages and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Volumes => "volumes",
            Self::Logs => "logs",
            Self::Registry => "registry",
            Self::Pipelines => "pipelines",
            Self::Resources => "resources",
            Self::Versions => "versions",
            Self::Containers => "containers",
        }
    }

    fn is_bytes(self) -> bool {
        matches!(self, Self::Volumes | Self::Logs | Self::Registry)
    }

    /// An amount as people read it.
    pub fn show(self, amount: u64) -> String {
        if self.is_bytes() {
            Bytes(amount).to_string()
        } else {
            amount.to_string()
        }
    }

    fn read(self, text: &str) -> Result<u64, String> {
        if self.is_bytes() {
            return Ok(text.parse::<Bytes>()?.0);
        }
        text.parse()
            .map_err(|_| format!("{text:?} is not a number of {}", self.name()))
    }
}

impl FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|quota| quota.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{text:?} is not a quota; there are {names}")
        })
    }
}

/// A limit for every team or for one: `volumes=50GiB`, `main/volumes=100GiB`, `main/volumes=none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamQuota {
    pub team: Option<String>,
    pub quota: Quota,
    pub limit: Option<u64>,
}

impl FromStr for TeamQuota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, limit) = text
            .rsplit_once('=')
            .ok_or_else(|| format!("{text:?} has no limit; write it as volumes=50GiB"))?;
        let (team, quota) = match what.rsplit_once('/') {
            Some(("", _)) => return Err("before the `/` there is no team".to_owned()),
            Some((team, quota)) => (Some(team.to_owned()), quota),
            None => (None, what),
        };
        let quota: Quota = quota.parse()?;
        let limit = match limit {
            "none" => None,
            limit => Some(quota.read(limit)?),
        };
        Ok(Self { team, quota, limit })
    }
}

/// The limits of all teams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    everybody: BTreeMap<Quota, u64>,
    teams: BTreeMap<String, BTreeMap<Quota, Option<u64>>>,
}

impl FromIterator<TeamQuota> for Quotas {
    fn from_iter<T: IntoIterator<Item = TeamQuota>>(all: T) -> Self {
        let mut quotas = Self::default();
        for TeamQuota { team, quota, limit } in all {
            match (team, limit) {
                (Some(team), limit) => {
                    quotas.teams.entry(team).or_default().insert(quota, limit);
                }
                (None, Some(limit)) => {
                    quotas.everybody.insert(quota, limit);
                }
                (None, None) => {
                    quotas.everybody.remove(&quota);
                }
            }
        }
        quotas
    }
}

impl Quotas {
    /// The most of it that the team may use.
    pub fn limit(&self, team: &str, quota: Quota) -> Option<u64> {
        let own = self.teams.get(team).and_then(|own| own.get(&quota));
        match own {
            Some(own) => *own,
            None => self.everybody.get(&quota).copied(),
        }
    }

    /// Returns true if any team has a limit of it.
    pub fn has(&self, quota: Quota) -> bool {
        let limited =
            |own: &BTreeMap<Quota, Option<u64>>| own.get(&quota).copied().flatten().is_some();
        self.everybody.contains_key(&quota) || self.teams.values().any(limited)
    }

    /// The teams that have limits of their own.
    pub fn teams(&self) -> impl Iterator<Item = &str> {
        self.teams.keys().map(String::as_str)
    }
}

/// A team wants more than it may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct QuotaExceeded {
    pub team: String,
    pub quota: Quota,
    pub limit: u64,
    pub used: u64,
    /// The amount that was wanted on top of that.
    pub wanted: u64,
    /// The largest users of it, with their amounts.
    pub users: Vec<(String, u64)>,
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { team, quota, .. } = self;
        let name = quota.name();
        let (limit, used) = (quota.show(self.limit), quota.show(self.used));
        write!(
            f,
            "team `{team}` is over its quota of {name}: the limit is {limit}, {used} are used"
        )?;
        if self.wanted > 0 && self.used <= self.limit {
            write!(f, " and {} more are wanted", quota.show(self.wanted))?;
        }
        let users = self.users.iter();
        let users: Vec<_> = users
            .map(|(user, amount)| format!("{user} {}", quota.show(*amount)))
            .collect();
        if !users.is_empty() {
            write!(f, " ({})", users.join(", "))?;
        }
        write!(
            f,
            ". Remove something, or ask an administrator for more (--team-quota {team}/{name}=…)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(texts: &[&str]) -> Quotas {
        texts
            .iter()
            .map(|text| text.parse::<TeamQuota>().unwrap())
            .collect()
    }

    #[test]
    fn a_teams_own_limit_wins_over_everybodys() {
        let all = quotas(&[
            "volumes=50GiB",
            "main/volumes=1TiB",
            "free/volumes=none",
            "main/pipelines=7",
        ]);
        let volumes = |team| all.limit(team, Quota::Volumes);
        assert_eq!(volumes("other"), Some(50 << 30));
        assert_eq!(volumes("main"), Some(1 << 40));
        assert_eq!(volumes("free"), None);
        assert_eq!(all.limit("other", Quota::Pipelines), None);
        assert!(all.has(Quota::Volumes) && all.has(Quota::Pipelines) && !all.has(Quota::Logs));
        assert!(!quotas(&["main/logs=none"]).has(Quota::Logs));
    }

    #[test]
    fn what_is_no_quota_is_told() {
        for (text, words) in [
            ("volumes", "has no limit"),
            ("disk=1GiB", "is not a quota; there are volumes, logs"),
            ("/volumes=1GiB", "no team"),
            ("volumes=many", "is not a number of bytes"),
            ("pipelines=1GiB", "is not a number of pipelines"),
        ] {
            let refused = text.parse::<TeamQuota>().unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn the_words_name_quota_limit_and_users() {
        let words = QuotaExceeded {
            team: "main".to_owned(),
            quota: Quota::Volumes,
            limit: 2 << 30,
            used: 1 << 30,
            wanted: 3 << 30,
            users: vec![("caches of gets".to_owned(), 1 << 30)],
        };
        assert_eq!(
            words.to_string(),
            "team `main` is over its quota of volumes: the limit is 2.0 GiB, 1.0 GiB are used and 3.0 GiB more \
             are wanted (caches of gets 1.0 GiB). Remove something, or ask an administrator for more (--team-quota \
             main/volumes=…)"
        );
    }
}
