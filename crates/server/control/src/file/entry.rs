//! The file as written, and every check between it and a [`ControlCluster`].

use std::{collections::HashMap, path::PathBuf};

use airside_clusters::{AccessMistake, ClusterAccess, Rate};
use airside_kube_objects::is_object_name;
use airside_model::chain;
use airside_setting::FlyMode;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::{ControlCluster, ControlTeam};

/// Requests per second, unless the file says otherwise.
const DEFAULT_QPS: u32 = 20;
const DEFAULT_BUILDS_KEPT: u32 = 5;
const DEFAULT_OBJECTS_MAX: u32 = 2000;
/// Largest number of finished builds of a job that have an object.
const MAX_BUILDS_KEPT: u32 = 1000;
/// Largest number of mirrored builds of a namespace: all of them are in this server's memory.
const MAX_OBJECTS: u32 = 100_000;
/// Largest number of teams in all clusters of the file.
const MAX_TEAMS: usize = 10_000;

/// A mistake and its line; line 0 if it is not known.
#[derive(Debug)]
pub(super) struct ControlFault {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) message: String,
}

impl ControlFault {
    fn at(location: Location, message: impl Into<String>) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
            message: message.into(),
        }
    }
}

impl From<serde_saphyr::Error> for ControlFault {
    fn from(error: serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let text = chain(&error);
        // The place is told once, in front.
        let place = format!(" at line {}, column {}", location.line(), location.column());
        Self::at(location, text.replace(&place, ""))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlFile {
    clusters: Vec<ClusterEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterEntry {
    name: Spanned<String>,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    service_account: Option<PathBuf>,
    api_server: Option<String>,
    qps: Option<Spanned<u32>>,
    teams: Vec<TeamEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamEntry {
    team: Spanned<String>,
    namespace: Spanned<String>,
    #[serde(default)]
    fly: FlyMode,
    mirror: Option<Vec<MirrorPart>>,
    builds_kept: Option<Spanned<u32>>,
    objects_max: Option<Spanned<u32>>,
    #[serde(default)]
    clear_secrets: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MirrorPart {
    Jobs,
    Builds,
}

pub(super) fn parse(text: &str) -> Result<Vec<ControlCluster>, ControlFault> {
    let file: ControlFile = serde_saphyr::from_str(text)?;
    let mut seen = SeenEntries::default();
    let mut clusters = Vec::new();
    for entry in file.clusters {
        clusters.push(entry.check(&mut seen)?);
    }
    Ok(clusters)
}

/// The lines of names that may be there only once.
#[derive(Default)]
struct SeenEntries {
    clusters: HashMap<String, u64>,
    teams: HashMap<String, u64>,
    /// By access and name: two entries may lead to one cluster.
    namespaces: HashMap<String, u64>,
}

/// Notes a name; fails if it is there already.
fn note(
    seen: &mut HashMap<String, u64>,
    key: String,
    at: Location,
    what: &str,
) -> Result<(), ControlFault> {
    match seen.insert(key, at.line()) {
        None => Ok(()),
        Some(line) => Err(ControlFault::at(
            at,
            format!("{what} already, at line {line}"),
        )),
    }
}

impl ClusterEntry {
    fn check(self, seen: &mut SeenEntries) -> Result<ControlCluster, ControlFault> {
        let (name, at) = (self.name.value, self.name.referenced);
        if !is_object_name(&name) {
            let message = format!(
                "name: {name:?} is not a valid name of a cluster: use up to 63 lower-case letters, digits and '-'"
            );
            return Err(ControlFault::at(at, message));
        }
        let what = format!("name: there is a cluster {name:?}");
        note(&mut seen.clusters, name.clone(), at, &what)?;
        let access = ClusterAccess {
            kubeconfig: self.kubeconfig,
            context: self.context,
            service_account: self.service_account,
            api_server: self.api_server,
        };
        let misplaced = |mistake: AccessMistake| ControlFault::at(at, mistake.to_string());
        access.check().map_err(misplaced)?;
        let qps = bounded("qps", self.qps, DEFAULT_QPS, 1, 10_000)?;
        let mut teams = Vec::new();
        for entry in self.teams {
            if seen.teams.len() >= MAX_TEAMS {
                let message = format!("there are more than {MAX_TEAMS} teams");
                return Err(ControlFault::at(entry.team.referenced, message));
            }
            teams.push(entry.check(&access, seen)?);
        }
        Ok(ControlCluster {
            name,
            access,
            rate: Rate {
                qps,
                burst: qps.saturating_mul(2),
            },
            teams,
        })
    }
}

impl TeamEntry {
    fn check(
        self,
        access: &ClusterAccess,
        seen: &mut SeenEntries,
    ) -> Result<ControlTeam, ControlFault> {
        let (team, namespace) = (self.team.value, self.namespace.value);
        if team.trim().is_empty() {
            return Err(ControlFault::at(
                self.team.referenced,
                "team: must not be empty",
            ));
        }
        if !is_object_name(&namespace) {
            let message =
                format!("namespace: {namespace:?} cannot be the name of a Kubernetes namespace");
            return Err(ControlFault::at(self.namespace.referenced, message));
        }
        let what = format!("team: team {team:?} has a namespace");
        note(&mut seen.teams, team.clone(), self.team.referenced, &what)?;
        let what = format!("namespace: {namespace:?} belongs to a team");
        let key = format!("{access:?} {namespace}");
        note(&mut seen.namespaces, key, self.namespace.referenced, &what)?;
        let mirrors = |part| match &self.mirror {
            Some(parts) => parts.contains(&part),
            None => true,
        };
        Ok(ControlTeam {
            fly: self.fly,
            mirrors_jobs: mirrors(MirrorPart::Jobs),
            mirrors_builds: mirrors(MirrorPart::Builds),
            builds_kept: bounded(
                "builds_kept",
                self.builds_kept,
                DEFAULT_BUILDS_KEPT,
                0,
                MAX_BUILDS_KEPT,
            )?,
            objects_max: bounded(
                "objects_max",
                self.objects_max,
                DEFAULT_OBJECTS_MAX,
                1,
                MAX_OBJECTS,
            )?,
            clear_secrets: self.clear_secrets,
            team,
            namespace,
        })
    }
}

fn bounded(
    field: &str,
    value: Option<Spanned<u32>>,
    default: u32,
    least: u32,
    most: u32,
) -> Result<u32, ControlFault> {
    match value {
        None => Ok(default),
        Some(number) if (least..=most).contains(&number.value) => Ok(number.value),
        Some(number) => Err(ControlFault::at(
            number.referenced,
            format!("{field}: must be from {least} to {most}"),
        )),
    }
}
