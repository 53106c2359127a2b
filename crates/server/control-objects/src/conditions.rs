//! Conditions, as `kubectl wait`, Flux and Argo CD expect them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::ClusterBuildPhase;

/// Largest number of characters of a condition's message.
pub const MAX_MESSAGE_CHARS: usize = 1000;

/// State of a pipeline's object, in the words of its conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineReadiness {
    /// The configuration of this generation is set.
    Set,
    /// The configuration has mistakes; the message lists them.
    Invalid(String),
    /// The cluster refuses the pipeline, in these words.
    Refused(String),
    /// An older object of this name is about the same pipeline.
    Duplicate(String),
    /// The configuration is larger than an object may hold.
    TooLarge(String),
    /// Something else must happen first; it is tried again.
    Waiting(String),
}

impl PipelineReadiness {
    /// Returns the reason of the condition `Ready`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Set => "Set",
            Self::Invalid(_) => "Invalid",
            Self::Refused(_) => "Refused",
            Self::Duplicate(_) => "Duplicate",
            Self::TooLarge(_) => "TooLarge",
            Self::Waiting(_) => "Waiting",
        }
    }

    fn message(&self) -> &str {
        match self {
            Self::Set => "",
            Self::Invalid(message)
            | Self::Refused(message)
            | Self::Duplicate(message)
            | Self::TooLarge(message)
            | Self::Waiting(message) => message,
        }
    }

    /// Returns the conditions of a pipeline's object. `Stalled` and `Reconciling` are there only
    /// while they are true, as Flux and kstatus want it.
    pub fn conditions(
        &self,
        before: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition> {
        let one = |kind, status| ConditionState {
            kind,
            status,
            reason: self.reason(),
            message: self.message(),
        };
        let states = match self {
            Self::Set => vec![one("Ready", "True")],
            Self::Waiting(_) => vec![one("Ready", "False"), one("Reconciling", "True")],
            Self::Invalid(_) | Self::Refused(_) | Self::Duplicate(_) | Self::TooLarge(_) => {
                vec![one("Ready", "False"), one("Stalled", "True")]
            }
        };
        let condition = |state: ConditionState<'_>| state.condition(before, generation, now);
        states.into_iter().map(condition).collect()
    }
}

/// Returns the conditions of a build's object.
pub fn build_conditions(
    phase: ClusterBuildPhase,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let (complete, succeeded, reason) = match phase {
        ClusterBuildPhase::Pending => ("False", "Unknown", "Pending"),
        ClusterBuildPhase::Started => ("False", "Unknown", "Started"),
        ClusterBuildPhase::Succeeded => ("True", "True", "Succeeded"),
        ClusterBuildPhase::Failed => ("True", "False", "Failed"),
        ClusterBuildPhase::Errored => ("True", "False", "Errored"),
        ClusterBuildPhase::Aborted => ("True", "False", "Aborted"),
    };
    let states = [("Complete", complete), ("Succeeded", succeeded)];
    let condition = |(kind, status)| {
        let state = ConditionState {
            kind,
            status,
            reason,
            message: "",
        };
        state.condition(before, generation, now)
    };
    states.into_iter().map(condition).collect()
}

/// Returns the conditions of a build's object for which no build can be made.
pub fn refused_build_conditions(
    reason: &str,
    message: &str,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let states = [("Complete", "True"), ("Succeeded", "False")];
    let condition = |(kind, status)| {
        let state = ConditionState {
            kind,
            status,
            reason,
            message,
        };
        state.condition(before, generation, now)
    };
    states.into_iter().map(condition).collect()
}

/// Returns the condition of a job's object: the end of its newest ended build.
pub fn job_conditions(
    last: Option<ClusterBuildPhase>,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let conditions = last.map(|phase| build_conditions(phase, before, generation, now));
    let mut conditions = conditions.unwrap_or_default();
    conditions.retain(|condition| condition.type_ == "Succeeded");
    conditions
}

/// A condition without its times.
struct ConditionState<'a> {
    kind: &'static str,
    status: &'static str,
    reason: &'a str,
    message: &'a str,
}

impl ConditionState<'_> {
    /// The transition time moves only with the status.
    fn condition(
        &self,
        before: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Condition {
        let same = before
            .iter()
            .find(|one| one.type_ == self.kind && one.status == self.status);
        Condition {
            type_: self.kind.to_owned(),
            status: self.status.to_owned(),
            reason: self.reason.to_owned(),
            message: cut_message(self.message),
            observed_generation: generation,
            last_transition_time: same
                .map_or(Time(now), |before| before.last_transition_time.clone()),
        }
    }
}

/// Returns a message without control characters other than line ends, of at most
/// [`MAX_MESSAGE_CHARS`] characters.
pub fn cut_message(message: &str) -> String {
    let shown = |c: char| !c.is_control() || c == '\n';
    let clean = message.chars().map(|c| if shown(c) { c } else { ' ' });
    let mut text: String = clean.take(MAX_MESSAGE_CHARS + 1).collect();
    if text.chars().count() > MAX_MESSAGE_CHARS {
        text = text.chars().take(MAX_MESSAGE_CHARS - 1).collect();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn shown(conditions: &[Condition]) -> Vec<String> {
        let line = |one: &Condition| {
            let since = one.last_transition_time.0.as_second();
            format!("{}={} {} {since}", one.type_, one.status, one.reason)
        };
        conditions.iter().map(line).collect()
    }

    #[test]
    fn conditions_of_a_pipeline() {
        let invalid = PipelineReadiness::Invalid("jobs.a: no plan".to_owned());
        let first = invalid.conditions(&[], Some(1), at(1));
        assert_eq!(
            shown(&first),
            ["Ready=False Invalid 1", "Stalled=True Invalid 1"]
        );
        assert_eq!(first[0].message, "jobs.a: no plan");
        let waiting = PipelineReadiness::Waiting("away".to_owned());
        let second = waiting.conditions(&first, Some(2), at(2));
        assert_eq!(
            shown(&second),
            ["Ready=False Waiting 1", "Reconciling=True Waiting 2"]
        );
        let set = PipelineReadiness::Set.conditions(&second, Some(2), at(3));
        assert_eq!(shown(&set), ["Ready=True Set 3"]);
        assert_eq!(set[0].observed_generation, Some(2));
    }

    #[test]
    fn conditions_of_a_build() {
        for (phase, expected) in [
            (ClusterBuildPhase::Pending, ["False", "Unknown"]),
            (ClusterBuildPhase::Started, ["False", "Unknown"]),
            (ClusterBuildPhase::Succeeded, ["True", "True"]),
            (ClusterBuildPhase::Failed, ["True", "False"]),
            (ClusterBuildPhase::Errored, ["True", "False"]),
            (ClusterBuildPhase::Aborted, ["True", "False"]),
        ] {
            let conditions = build_conditions(phase, &[], None, at(1));
            let statuses: Vec<_> = conditions.iter().map(|one| one.status.as_str()).collect();
            assert_eq!(statuses, expected, "{phase:?}");
            let of_job = job_conditions(Some(phase), &[], None, at(1));
            assert_eq!(shown(&of_job), shown(&conditions[1..]), "{phase:?}");
        }
        assert!(job_conditions(None, &[], None, at(1)).is_empty());
    }

    #[test]
    fn messages_are_cut_between_characters() {
        assert_eq!(cut_message("a\tb\nc\u{1b}[31m"), "a b\nc [31m");
        assert_eq!(cut_message(&"ä".repeat(1000)), "ä".repeat(1000));
        let cut = cut_message(&"ä".repeat(2000));
        assert_eq!(cut.chars().count(), MAX_MESSAGE_CHARS);
        assert!(cut.ends_with("ä…"));
    }
}
