//! The position of a step in its build: labels of its container or pod.

use serde::{Deserialize, Serialize};

use crate::{BuildId, StepKind, TeamId};

/// Names for people. Nothing is looked up by them, but for [`StepLabels::team_key`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepLabels {
    pub team: String,
    /// The number of the team, which no later team of its name has; 0 in labels that an earlier
    /// version wrote.
    #[serde(default = "StepLabels::unknown_team")]
    pub team_id: TeamId,
    pub pipeline: Option<String>,
    pub job: Option<String>,
    pub build: BuildId,
    pub build_name: String,
    pub step: String,
    pub kind: StepKind,
    pub attempt: u32,
    /// Number of the attempt for each `attempts` around the step, outermost first; empty outside of
    /// any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<u32>,
}

impl StepLabels {
    fn unknown_team() -> TeamId {
        TeamId(0)
    }

    /// Returns the key of all that is kept for the team outside of the database. A team that gets
    /// the name of an earlier one has another key.
    pub fn team_key(&self) -> String {
        format!("{}/{}", self.team_id, self.team)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_of_earlier_teams_are_other_keys() {
        let labels = |team: &str, team_id: i64| StepLabels {
            team: team.to_owned(),
            team_id: TeamId(team_id),
            pipeline: None,
            job: None,
            build: BuildId(1),
            build_name: "1".to_owned(),
            step: "s".to_owned(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        };
        let key = |team: &str, id: i64| labels(team, id).team_key();
        assert_ne!(key("main", 1), key("main", 2));
        assert_ne!(
            key("main", 0),
            key("other", 0),
            "labels of an earlier version"
        );
        assert_ne!(key("2/main", 1), key("main", 12));
        let mut text = serde_json::to_value(labels("main", 1)).unwrap();
        text.as_object_mut().unwrap().remove("team_id");
        let read: StepLabels = serde_json::from_value(text).unwrap();
        assert_eq!(read, labels("main", 0));
    }
}
