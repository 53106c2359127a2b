//! A pipeline in the dashboard's document: one short list, as thousands of them are sent at once.

use std::sync::Arc;

use airside_model::{BuildStatus, TeamId};
use airside_store::{DashboardJob, DashboardPipeline, JobActivity, Micros};
use serde_json::{Value, json};

const PAUSED: u8 = 1;
const ARCHIVED: u8 = 2;
const EXPOSED: u8 = 4;
const OWN: u8 = 8;

/// The properties of a pipeline that decide who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visibility {
    pub(crate) team: TeamId,
    pub(crate) public: bool,
}

/// A pipeline's item, for those who belong to its team and for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DashboardItem {
    pub(crate) seen: Visibility,
    pub(crate) insider: Arc<str>,
    pub(crate) outsider: Arc<str>,
}

impl DashboardItem {
    pub(crate) fn new(pipeline: &DashboardPipeline) -> Self {
        Self {
            seen: Visibility {
                team: pipeline.team,
                public: pipeline.public,
            },
            insider: item(pipeline, true).into(),
            outsider: item(pipeline, false).into(),
        }
    }
}

/// Returns the pipeline's marks as a sum of powers of two.
pub(crate) fn flags(pipeline: &DashboardPipeline) -> u8 {
    let marks = [
        (pipeline.paused, PAUSED),
        (pipeline.archived, ARCHIVED),
        (pipeline.public, EXPOSED),
    ];
    marks
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, flag)| flag)
        .sum()
}

/// Returns the time since which the pipeline has its status in seconds; 0 if nothing ran yet.
pub(crate) fn since(pipeline: &DashboardPipeline) -> i64 {
    pipeline.since().map_or(0, Micros::seconds)
}

/// Returns the state of a job as one character: a digit in base 36.
pub(crate) fn status_char(job: &DashboardJob) -> char {
    let latest = match job.latest {
        Some(BuildStatus::Succeeded) => 1,
        Some(BuildStatus::Failed) => 2,
        Some(BuildStatus::Errored) => 3,
        Some(BuildStatus::Aborted) => 4,
        Some(BuildStatus::Pending | BuildStatus::Started) | None => 0,
    };
    let activity = match job.activity {
        JobActivity::Idle => 0,
        JobActivity::Pending => 5,
        JobActivity::Started => 10,
    };
    let paused = if job.paused { 15 } else { 0 };
    char::from_digit(latest + activity + paused, 36).unwrap_or('0')
}

fn item(pipeline: &DashboardPipeline, is_insider: bool) -> String {
    let jobs = &pipeline.jobs;
    let statuses: String = jobs.iter().map(status_char).collect();
    let running = jobs.iter().filter(|job| job.activity != JobActivity::Idle);
    let own = if is_insider { OWN } else { 0 };
    let mut item = vec![
        json!(pipeline.id),
        json!(pipeline.team_name),
        json!(pipeline.name),
        json!(flags(pipeline) + own),
        json!(since(pipeline)),
        json!(statuses),
        json!(pipeline.ranks),
        json!(running.count()),
        json!(pipeline.failing_checks),
    ];
    let pause = (pipeline.paused && is_insider).then(|| pause(pipeline));
    match (pipeline.instance_vars.is_empty(), &pause) {
        (false, _) => item.push(pipeline.instance_vars.to_value()),
        (true, Some(_)) => item.push(json!(0)),
        (true, None) => {}
    }
    item.extend(pause);
    Value::Array(item).to_string()
}

fn pause(pipeline: &DashboardPipeline) -> Value {
    json!([
        pipeline.paused_by.as_deref().unwrap_or_default(),
        pipeline.paused_at.map_or(0, Micros::seconds),
    ])
}

#[cfg(test)]
pub(crate) mod tests {
    use airside_model::{JobId, PipelineId};
    use airside_store::InstanceVars;

    use super::*;

    pub(crate) fn job(id: i64, latest: Option<BuildStatus>) -> DashboardJob {
        DashboardJob {
            id: JobId(id),
            paused: false,
            latest,
            since: latest.map(|_| Micros(5_000_000)),
            activity: JobActivity::Idle,
        }
    }

    /// A pipeline of a team, with one job.
    pub(crate) fn pipeline(id: i64, team: i64) -> DashboardPipeline {
        DashboardPipeline {
            id: PipelineId(id),
            team: TeamId(team),
            team_name: format!("t{team}"),
            name: format!("p{id}"),
            instance_vars: InstanceVars::default(),
            paused: false,
            paused_by: None,
            paused_at: None,
            public: false,
            archived: false,
            ranks: "0".to_owned(),
            failing_checks: 0,
            jobs: vec![job(id * 10, None)],
        }
    }

    #[test]
    fn each_state_of_a_job_has_a_character_of_its_own() {
        let mut all = String::new();
        for paused in [false, true] {
            for activity in [
                JobActivity::Idle,
                JobActivity::Pending,
                JobActivity::Started,
            ] {
                use BuildStatus::{Aborted, Errored, Failed, Succeeded};
                for latest in [
                    None,
                    Some(Succeeded),
                    Some(Failed),
                    Some(Errored),
                    Some(Aborted),
                ] {
                    let job = job(1, latest);
                    all.push(status_char(&DashboardJob {
                        paused,
                        activity,
                        ..job
                    }));
                }
            }
        }
        assert_eq!(all, "0123456789abcdefghijklmnopqrst");
    }

    #[test]
    fn an_item_is_as_short_as_can_be() {
        let mut shown = pipeline(7, 1);
        shown.jobs.push(job(71, Some(BuildStatus::Failed)));
        shown.jobs[0].activity = JobActivity::Started;
        shown.ranks = "01".to_owned();
        let both = |shown: &DashboardPipeline| (item(shown, true), item(shown, false));
        let expected = |own: &str, other: &str| (own.to_owned(), other.to_owned());
        assert_eq!(
            both(&shown),
            expected(
                r#"[7,"t1","p7",8,5,"a2","01",1,0]"#,
                r#"[7,"t1","p7",0,5,"a2","01",1,0]"#
            )
        );
        shown.paused = true;
        shown.paused_by = Some("a\"n".to_owned());
        shown.paused_at = Some(Micros(9_000_000));
        shown.public = true;
        assert_eq!(
            both(&shown),
            expected(
                r#"[7,"t1","p7",13,5,"a2","01",1,0,0,["a\"n",9]]"#,
                r#"[7,"t1","p7",5,5,"a2","01",1,0]"#
            ),
            "who paused it is for the team"
        );
        let vars = json!({"env": "prod"});
        shown.instance_vars = InstanceVars::new(vars.as_object().unwrap().clone());
        shown.archived = true;
        shown.failing_checks = 2;
        assert_eq!(
            item(&shown, false),
            r#"[7,"t1","p7",7,5,"a2","01",1,2,{"env":"prod"}]"#
        );
    }
}
