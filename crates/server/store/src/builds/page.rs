//! Builds in pages, newest first; those that repeat a build stand before it, wherever it stands.

use airside_model::{BuildId, BuildStatus, JobId, PipelineId, TeamId};

use super::Build;
use crate::{Micros, Result, Store};

/// The builds to list; all, if no field is set.
#[derive(Clone, Debug, Default)]
pub struct BuildFilter {
    pub team: Option<TeamId>,
    pub pipeline: Option<PipelineId>,
    pub job: Option<JobId>,
    /// Leaves only builds of pipelines that every visitor may see, and those of these teams.
    pub exposed_beyond: Option<Vec<TeamId>>,
    pub choice: BuildChoice,
}

/// Builds by their statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuildChoice {
    #[default]
    All,
    /// Builds that wait or run.
    Unfinished,
    Finished,
    Status(BuildStatus),
}

impl BuildChoice {
    /// Returns the condition, in words of this file: no value of a request is in it.
    fn condition(self) -> Option<String> {
        const UNFINISHED: &str =
            "b.id IN (SELECT u.id FROM builds u WHERE u.status IN ('pending', 'started'))";
        match self {
            Self::All => None,
            // There is an index of the few that are unfinished.
            Self::Unfinished => Some(UNFINISHED.to_owned()),
            Self::Finished => Some("b.status NOT IN ('pending', 'started')".to_owned()),
            Self::Status(status @ (BuildStatus::Pending | BuildStatus::Started)) => {
                Some(format!("{UNFINISHED} AND b.status = '{}'", status.as_str()))
            }
            Self::Status(status) => Some(format!("b.status = '{}'", status.as_str())),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct BuildPage {
    pub limit: i64,
    pub range: BuildRange,
}

/// SQL of a build's place in a list, before its id. There is an index of both for each way to list
/// builds.
const RANK: &str = "coalesce(b.rerun_of, b.id)";

/// The ends of a range of builds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildRange {
    Ids {
        from: Option<BuildId>,
        to: Option<BuildId>,
    },
    /// Builds by the time of their start. A build that has not started is not between two times.
    Started {
        from: Option<Micros>,
        to: Option<Micros>,
    },
}

impl BuildRange {
    pub const ALL: Self = Self::Ids {
        from: None,
        to: None,
    };

    /// Returns true if the builds nearest to the lower end are wanted: paging towards newer builds.
    pub fn is_upwards(self) -> bool {
        matches!(
            self,
            Self::Ids {
                from: Some(_),
                to: None
            }
        )
    }

    /// The ends, each as what to compare, how, and with what.
    fn ends(self) -> [(End, &'static str, Option<i64>); 2] {
        match self {
            Self::Ids { from, to } => [
                (End::Place, ">=", from.map(|id| id.0)),
                (End::Place, "<=", to.map(|id| id.0)),
            ],
            Self::Started { from, to } => [
                (End::Start, ">=", from.map(|time| time.0)),
                (End::Start, "<=", to.map(|time| time.0)),
            ],
        }
    }
}

impl Build {
    /// Returns the build's place in a list, the last first.
    pub fn place(&self) -> (BuildId, BuildId) {
        let repeated = self.rerun_of.as_ref().map(|rerun| rerun.build);
        (repeated.unwrap_or(self.id), self.id)
    }
}

#[derive(Clone, Copy)]
enum End {
    /// The place of the build with an id, or the place that it would have.
    Place,
    Start,
}

impl End {
    fn condition(self, compare: &str, value: usize) -> String {
        match self {
            Self::Start => format!("b.started_at {compare} ${value}"),
            Self::Place => {
                let last = format!(
                    "coalesce((SELECT e.rerun_of FROM builds e WHERE e.id = ${value}), ${value})"
                );
                format!("{RANK} {compare} {last} AND ({RANK} <> {last} OR b.id {compare} ${value})")
            }
        }
    }
}

impl Default for BuildPage {
    fn default() -> Self {
        Self {
            limit: 100,
            range: BuildRange::ALL,
        }
    }
}

impl Store {
    pub async fn builds(&self, filter: &BuildFilter, page: BuildPage) -> Result<Vec<Build>> {
        // Checks that no user asked for are of no interest.
        let (mut clauses, mut values) = (vec!["b.listed".to_owned()], Vec::new());
        clauses.extend(filter.choice.condition());
        let whose = [
            ("b.team_id =", filter.team.map(|id| id.0)),
            ("b.pipeline_id =", filter.pipeline.map(|id| id.0)),
            ("b.job_id =", filter.job.map(|id| id.0)),
        ];
        for (condition, value) in whose {
            if let Some(value) = value {
                values.push(value);
                clauses.push(format!("{condition} ${}", values.len()));
            }
        }
        for (end, compare, value) in page.range.ends() {
            if let Some(value) = value {
                values.push(value);
                clauses.push(end.condition(compare, values.len()));
            }
        }
        if let Some(teams) = &filter.exposed_beyond {
            clauses.push("p.public".to_owned());
            for team in teams {
                values.push(team.0);
                clauses.push(format!("b.team_id <> ${}", values.len()));
            }
        }
        values.push(page.limit);
        let filter = format!("WHERE {}", clauses.join(" AND "));
        let order = if page.range.is_upwards() {
            "ASC"
        } else {
            "DESC"
        };
        let tail = format!(
            "{filter} ORDER BY {RANK} {order}, b.id {order} LIMIT ${}",
            values.len()
        );
        let mut builds = self.list(&tail, &values).await?;
        if page.range.is_upwards() {
            builds.reverse();
        }
        Ok(builds)
    }
}
