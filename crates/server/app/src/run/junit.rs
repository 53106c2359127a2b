//! The results of a run as a JUnit XML file: a test case for each step.

use std::{fmt::Write as _, fs::File, io::Write as _, path::Path};

use super::{
    steps::{StepReport, StepStatus},
    table::{JobEnd, JobReport},
};

/// Returns an error in words if the file cannot be written; makes it if it is not there.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let opened = File::options().append(true).create(true).open(path);
    let shown = path.display();
    opened.map(|_| ()).map_err(|error| {
        format!(
            "--junit: cannot write {shown}: {}",
            airside_model::chain(&error)
        )
    })
}

pub(crate) fn write(path: &Path, reports: &[JobReport]) -> std::io::Result<()> {
    File::create(path)?.write_all(xml(reports).as_bytes())
}

/// Returns the XML of a run: a suite for each job. What fetches images is there only if it failed.
fn xml(reports: &[JobReport]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for report in reports {
        let mut cases = Vec::new();
        let shown = report.steps.iter().filter(|step| step.is_shown());
        cases.extend(shown.map(|step| case_of_step(&report.job, step)));
        cases.extend(case_of_job(report));
        let count = |outcome: &str| cases.iter().filter(|case| case.outcome == outcome).count();
        let _ = writeln!(
            text,
            r#"  <testsuite name="{}" tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.3}">"#,
            escaped(&report.job),
            cases.len(),
            count("failure"),
            count("error"),
            count("skipped"),
            report.took.as_secs_f64(),
        );
        cases.iter().for_each(|case| case.write(&mut text));
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

struct Case {
    class: String,
    name: String,
    seconds: f64,
    /// Element within the test case; empty if the step succeeded.
    outcome: &'static str,
    reason: String,
    output: String,
}

fn case_of_step(job: &str, step: &StepReport) -> Case {
    let outcome = match step.status {
        StepStatus::Succeeded => "",
        StepStatus::Failed => "failure",
        StepStatus::Skipped => "skipped",
        StepStatus::Running | StepStatus::Errored | StepStatus::TimedOut | StepStatus::Aborted => {
            "error"
        }
    };
    let reason = match step.reason.as_str() {
        "" => step.status.name(),
        reason => reason,
    };
    Case {
        class: job.to_owned(),
        name: format!("{} {}", step.kind, step.name),
        seconds: step.took.as_secs_f64(),
        outcome,
        reason: reason.to_owned(),
        output: step.tail.join("\n"),
    }
}

/// Returns the case of a job that had no build.
fn case_of_job(report: &JobReport) -> Option<Case> {
    let (outcome, reason) = match &report.end {
        JobEnd::Built(_) => return None,
        JobEnd::Impossible(words) => ("error", words),
        JobEnd::Skipped(words) => ("skipped", words),
    };
    Some(Case {
        class: report.job.clone(),
        name: "job".to_owned(),
        seconds: report.took.as_secs_f64(),
        outcome,
        reason: reason.clone(),
        output: String::new(),
    })
}

impl Case {
    fn write(&self, text: &mut String) {
        let (class, name) = (escaped(&self.class), escaped(&self.name));
        let seconds = self.seconds;
        let _ = write!(
            text,
            r#"    <testcase classname="{class}" name="{name}" time="{seconds:.3}""#
        );
        if self.outcome.is_empty() {
            text.push_str("/>\n");
            return;
        }
        let (outcome, reason) = (self.outcome, escaped(&self.reason));
        let output = escaped(&self.output);
        let _ = writeln!(
            text,
            ">\n      <{outcome} message=\"{reason}\">{output}</{outcome}>\n    </testcase>"
        );
    }
}

/// Returns a text as it may stand in an attribute or between tags. Characters that XML does not
/// know become a question mark.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' => safe.push(char),
            char if char.is_control() => safe.push('?'),
            '\u{fffe}' | '\u{ffff}' => safe.push('?'),
            char => safe.push(char),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use airside_model::BuildStatus;

    use super::*;

    fn step(kind: &'static str, name: &str, status: StepStatus) -> StepReport {
        StepReport {
            id: String::new(),
            kind,
            name: name.to_owned(),
            of_image: false,
            status,
            took: Duration::from_millis(1250),
            reason: String::new(),
            tail: Vec::new(),
        }
    }

    #[test]
    fn every_step_is_a_case_and_hostile_output_stays_text() {
        let mut failed = step("task", "tests", StepStatus::Failed);
        failed.reason = "exit status 1".to_owned();
        failed.tail = ["a < b && \"c\"\u{1b}[31m", "]]></failure>\u{0}\u{ffff}"]
            .map(str::to_owned)
            .to_vec();
        let mut image = step("get", "tests image", StepStatus::Succeeded);
        image.of_image = true;
        let reports = [
            JobReport {
                job: "unit".to_owned(),
                end: JobEnd::Built(BuildStatus::Failed),
                steps: vec![step("get", "src", StepStatus::Succeeded), image, failed],
                took: Duration::from_secs(2),
                build: None,
            },
            JobReport::skipped("deploy".to_owned(), "job unit did not succeed"),
        ];
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="unit" tests="2" failures="1" errors="0" skipped="0" time="2.000">
    <testcase classname="unit" name="get src" time="1.250"/>
    <testcase classname="unit" name="task tests" time="1.250">
      <failure message="exit status 1">a &lt; b &amp;&amp; &quot;c&quot;?[31m
]]&gt;&lt;/failure&gt;??</failure>
    </testcase>
  </testsuite>
  <testsuite name="deploy" tests="1" failures="0" errors="0" skipped="1" time="0.000">
    <testcase classname="deploy" name="job" time="0.000">
      <skipped message="job unit did not succeed"></skipped>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(xml(&reports), expected);
    }
}
