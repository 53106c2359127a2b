//! The table at the end of a run.

use std::{fmt::Write as _, time::Duration};

use airside_model::{BuildId, BuildStatus};

use super::{steps::StepReport, view::took};

/// The end of a job.
#[derive(Debug)]
pub(crate) struct JobReport {
    pub(crate) job: String,
    pub(crate) end: JobEnd,
    pub(crate) steps: Vec<StepReport>,
    pub(crate) took: Duration,
    /// The job's build, if there was one.
    pub(crate) build: Option<BuildId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Built(BuildStatus),
    /// There could be no build: the words say why.
    Impossible(String),
    /// The job had no turn: the words say why.
    Skipped(String),
}

impl JobReport {
    pub(crate) fn skipped(job: String, reason: impl Into<String>) -> Self {
        Self {
            job,
            end: JobEnd::Skipped(reason.into()),
            steps: Vec::new(),
            took: Duration::ZERO,
            build: None,
        }
    }

    pub(crate) fn status(&self) -> BuildStatus {
        match self.end {
            JobEnd::Built(status) => status,
            JobEnd::Impossible(_) => BuildStatus::Errored,
            JobEnd::Skipped(_) => BuildStatus::Pending,
        }
    }
}

impl StepReport {
    /// Returns false if the step only fetched an image, and did.
    pub(crate) fn is_shown(&self) -> bool {
        !self.of_image || self.status.is_bad()
    }
}

/// The column after these has the reason of a bad end.
const HEAD: [&str; 5] = ["JOB", "STEP", "STATUS", "TIME", ""];

/// Characters of a reason that a row has.
const MAX_REASON: usize = 120;

/// One row for each step that began, and one for each job.
pub(crate) fn table(reports: &[JobReport]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    for report in reports {
        for step in report.steps.iter().filter(|step| step.is_shown()) {
            let reason = step.reason.lines().next().unwrap_or_default();
            rows.push([
                report.job.clone(),
                format!("{} {}", step.kind, step.name),
                step.status.name().to_owned(),
                took(step.took),
                reason.chars().take(MAX_REASON).collect(),
            ]);
        }
        let (status, time) = match &report.end {
            JobEnd::Built(status) => (status.as_str().to_owned(), took(report.took)),
            JobEnd::Impossible(words) => (format!("errored: {words}"), String::new()),
            JobEnd::Skipped(words) => (format!("skipped: {words}"), String::new()),
        };
        rows.push([
            report.job.clone(),
            String::new(),
            status,
            time,
            String::new(),
        ]);
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            let _ = write!(line, "{cell:width$}  ", width = width(&rows, index));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Returns the width of a column. Long explanations do not count.
fn width(rows: &[[String; 5]], column: usize) -> usize {
    let cells = rows.iter().map(|row| row[column].chars().count());
    let limit = if column == 2 { 12 } else { usize::MAX };
    cells
        .filter(|width| *width <= limit)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{super::steps::StepStatus, *};

    #[test]
    fn columns_line_up() {
        let step = |kind, name: &str, status, millis| StepReport {
            id: String::new(),
            kind,
            name: name.to_owned(),
            of_image: name.ends_with(" image"),
            status,
            took: Duration::from_millis(millis),
            reason: match status {
                StepStatus::Succeeded => String::new(),
                _ => "exit status 1\nand more".to_owned(),
            },
            tail: Vec::new(),
        };
        let reports = [
            JobReport {
                job: "unit".to_owned(),
                end: JobEnd::Built(BuildStatus::Failed),
                steps: vec![
                    step("get", "src", StepStatus::Succeeded, 120),
                    step("get", "tests image", StepStatus::Succeeded, 120),
                    step("task", "tests", StepStatus::Failed, 65_000),
                    step("get", "late image", StepStatus::Failed, 200),
                ],
                took: Duration::from_millis(65_300),
                build: None,
            },
            JobReport::skipped("deploy".to_owned(), "job unit did not succeed"),
        ];
        let expected = "\
JOB     STEP            STATUS     TIME
unit    get src         succeeded  0.1s
unit    task tests      failed     1m05s  exit status 1
unit    get late image  failed     0.2s   exit status 1
unit                    failed     1m05s
deploy                  skipped: job unit did not succeed
";
        assert_eq!(table(&reports), expected);
    }
}
