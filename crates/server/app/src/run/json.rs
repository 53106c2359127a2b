//! The results of a run for programs: one JSON object per line on standard output.
//!
//! The schema is in `docs/run.md`: a field that is added there is a promise.

use std::{fs::File, io::Write as _};

use airside_store::now;
use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use serde::Serialize;

use super::{
    steps::StepReport,
    table::{JobEnd, JobReport},
};

/// Something that happened in a run.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum RunEvent<'a> {
    StepStarted {
        job: &'a str,
        step: &'a str,
        kind: &'a str,
        id: &'a str,
    },
    Output {
        job: &'a str,
        step: &'a str,
        id: &'a str,
        line: &'a str,
    },
    StepEnded {
        job: &'a str,
        #[serde(flatten)]
        step: StepResult<'a>,
    },
    JobEnded(JobResult<'a>),
    RunEnded {
        status: &'a str,
        exit_status: u8,
        jobs: Vec<JobResult<'a>>,
    },
}

#[derive(Serialize)]
pub(crate) struct StepResult<'a> {
    step: &'a str,
    kind: &'a str,
    id: &'a str,
    status: &'a str,
    seconds: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

#[derive(Serialize)]
pub(crate) struct JobResult<'a> {
    job: &'a str,
    status: &'a str,
    seconds: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    steps: Vec<StepResult<'a>>,
}

impl<'a> From<&'a StepReport> for StepResult<'a> {
    fn from(step: &'a StepReport) -> Self {
        Self {
            step: &step.name,
            kind: step.kind,
            id: &step.id,
            status: step.status.name(),
            seconds: rounded(step.took),
            reason: &step.reason,
        }
    }
}

impl<'a> From<&'a JobReport> for JobResult<'a> {
    fn from(report: &'a JobReport) -> Self {
        let (status, reason) = match &report.end {
            JobEnd::Built(status) => (status.as_str(), ""),
            JobEnd::Impossible(words) => ("errored", words.as_str()),
            JobEnd::Skipped(words) => ("skipped", words.as_str()),
        };
        Self {
            job: &report.job,
            status,
            seconds: rounded(report.took),
            reason,
            steps: report.steps.iter().map(StepResult::from).collect(),
        }
    }
}

/// Seconds with three digits after the point.
fn rounded(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// Standard output, for JSON alone.
pub(crate) struct JsonLines {
    out: Mutex<File>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    event: &'a RunEvent<'a>,
}

impl JsonLines {
    /// Takes standard output: what the rest of this process prints goes to standard error from now
    /// on.
    pub(crate) fn take_stdout() -> Result<Self> {
        let out = rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3);
        let out = out.context("cannot use standard output")?;
        rustix::stdio::dup2_stdout(std::io::stderr()).context("cannot duplicate standard error")?;
        Ok(Self {
            out: Mutex::new(out.into()),
        })
    }

    /// Writes an event. An error is ignored: the builds go on without a reader.
    pub(crate) fn write(&self, event: &RunEvent<'_>) {
        let mut text = line(event);
        text.push('\n');
        let _ = self.out.lock().write_all(text.as_bytes());
    }
}

fn line(event: &RunEvent<'_>) -> String {
    let time = jiff::Timestamp::from_microsecond(now().0).unwrap_or_default();
    let time = format!("{time:.3}");
    serde_json::to_string(&Line { time, event }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_event_is_a_flat_object_with_its_time() {
        let text = line(&RunEvent::StepEnded {
            job: "unit",
            step: StepResult {
                step: "tests",
                kind: "task",
                id: "1",
                status: "failed",
                seconds: 1.5,
                reason: "exit status 1",
            },
        });
        let mut value: Value = serde_json::from_str(&text).unwrap();
        let time = value.as_object_mut().unwrap().remove("time").unwrap();
        time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert_eq!(
            value,
            json!({"event": "step-ended", "job": "unit", "step": "tests", "kind": "task", "id": "1",
                "status": "failed", "seconds": 1.5, "reason": "exit status 1"})
        );
    }
}
