//! The steps of one build: when they began, the last lines they printed, and how they ended.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{
    json::{JsonLines, RunEvent},
    lines::without_colours,
    names::Step,
    puts::LeftOut,
};

/// Lines of a step's output that are kept for its report.
const MAX_TAIL_LINES: usize = 100;
/// Bytes of these lines.
const MAX_TAIL_BYTES: usize = 32 << 10;

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepStatus {
    Running,
    Succeeded,
    Failed,
    Errored,
    TimedOut,
    Aborted,
    /// The step was left out of the run.
    Skipped,
}

impl StepStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::TimedOut => "timed out",
            Self::Aborted => "aborted",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the status that an error event gives its step; the engine has its own messages for
    /// being stopped.
    pub(crate) fn of_error(message: &str) -> Self {
        match message {
            "interrupted" => Self::Aborted,
            "timeout exceeded" => Self::TimedOut,
            _ => Self::Errored,
        }
    }

    /// Returns true if the step ended by itself, and not well.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Errored | Self::TimedOut)
    }
}

/// A step that has begun.
#[derive(Clone, Debug)]
pub(crate) struct StepReport {
    /// Id of its node in the build's plan.
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// True if the step only fetches another step's image.
    pub(crate) of_image: bool,
    pub(crate) status: StepStatus,
    pub(crate) took: Duration,
    /// The reason for a bad end; empty if none is known.
    pub(crate) reason: String,
    /// The last lines of the output, without colours.
    pub(crate) tail: Vec<String>,
}

impl StepReport {
    /// Returns the row of a step that does not run.
    pub(crate) fn left_out(step: &LeftOut) -> Self {
        Self {
            id: String::new(),
            kind: step.kind,
            name: step.name.clone(),
            of_image: false,
            status: StepStatus::Skipped,
            took: Duration::ZERO,
            reason: "--no-put".to_owned(),
            tail: Vec::new(),
        }
    }
}

/// The steps of a build in the order in which they began.
#[derive(Default)]
pub(crate) struct Steps<'a> {
    job: &'a str,
    json: Option<&'a JsonLines>,
    begun: Vec<Begun>,
}

struct Begun {
    id: String,
    step: Step,
    began: Instant,
    took: Option<Duration>,
    status: StepStatus,
    reason: String,
    tail: Tail,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(job: &'a str, json: Option<&'a JsonLines>) -> Self {
        Self {
            job,
            json,
            begun: Vec::new(),
        }
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.begun.iter().any(|begun| begun.id == id)
    }

    /// Notes that a step began. Returns false if it had before.
    pub(crate) fn begin(&mut self, id: &str, step: &Step) -> bool {
        if self.has(id) {
            return false;
        }
        self.begun.push(Begun {
            id: id.to_owned(),
            step: step.clone(),
            began: Instant::now(),
            took: None,
            status: StepStatus::Running,
            reason: String::new(),
            tail: Tail::default(),
        });
        if let Some(json) = self.json {
            json.write(&RunEvent::StepStarted {
                job: self.job,
                step: &step.name,
                kind: step.kind,
                id,
            });
        }
        true
    }

    /// Returns true if the step began and has not ended.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        let mut begun = self.begun.iter();
        begun.any(|begun| begun.id == id && begun.took.is_none())
    }

    #[cfg(test)]
    pub(crate) fn began(&self, id: &str) -> Option<Instant> {
        let begun = self.begun.iter().find(|begun| begun.id == id)?;
        Some(begun.began)
    }

    /// Counts the time of a step from now on. Returns false if it never began.
    pub(crate) fn restart(&mut self, id: &str) -> bool {
        let Some(begun) = self.begun.iter_mut().find(|begun| begun.id == id) else {
            return false;
        };
        begun.began = Instant::now();
        true
    }

    /// Notes lines of a step's output.
    pub(crate) fn print(&mut self, id: &str, lines: &[String]) {
        let Some(begun) = self.begun.iter_mut().find(|begun| begun.id == id) else {
            return;
        };
        for line in lines {
            let line = without_colours(line);
            if let Some(json) = self.json {
                json.write(&RunEvent::Output {
                    job: self.job,
                    step: &begun.step.name,
                    id,
                    line: &line,
                });
            }
            begun.tail.push(line);
        }
    }

    /// Notes the end of a step; gives its kind and the time it took.
    pub(crate) fn end(
        &mut self,
        id: &str,
        status: StepStatus,
        reason: &str,
    ) -> Option<(&'static str, Duration)> {
        let begun = self.begun.iter_mut().find(|begun| begun.id == id)?;
        let took = begun.began.elapsed();
        begun.took = Some(took);
        begun.status = status;
        reason.clone_into(&mut begun.reason);
        if let Some(json) = self.json {
            json.write(&RunEvent::StepEnded {
                job: self.job,
                step: (&begun.report()).into(),
            });
        }
        Some((begun.step.kind, took))
    }

    pub(crate) fn reports(&self) -> Vec<StepReport> {
        self.begun.iter().map(Begun::report).collect()
    }

    /// Returns why the last step with a bad end had it: its error, or the last line it printed.
    pub(crate) fn reason(&self) -> Option<String> {
        let mut steps = self.begun.iter().rev();
        let bad = steps.find(|begun| begun.status.is_bad())?;
        let printed = || bad.tail.lines.iter().rev().find(|line| !line.is_empty());
        let reason = match bad.status {
            StepStatus::Failed => printed().unwrap_or(&bad.reason),
            _ => &bad.reason,
        };
        let first = reason.lines().next().unwrap_or_default();
        (!first.is_empty()).then(|| first.to_owned())
    }
}

impl Begun {
    fn report(&self) -> StepReport {
        StepReport {
            id: self.id.clone(),
            kind: self.step.kind,
            name: self.step.name.clone(),
            of_image: self.step.of_image,
            status: self.status,
            took: self.took.unwrap_or_else(|| self.began.elapsed()),
            reason: self.reason.clone(),
            tail: self.tail.lines.iter().cloned().collect(),
        }
    }
}

/// The last lines of an output.
#[derive(Default)]
struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MAX_TAIL_LINES || self.bytes > MAX_TAIL_BYTES {
            let Some(gone) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= gone.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_output_leaves_a_bounded_tail() {
        let mut tail = Tail::default();
        for number in 0..1000 {
            tail.push(format!("{number}"));
        }
        assert_eq!(tail.lines.len(), MAX_TAIL_LINES);
        assert_eq!(tail.lines.back().unwrap(), "999");
        for _ in 0..100 {
            tail.push("x".repeat(16 << 10));
        }
        assert!(tail.bytes <= MAX_TAIL_BYTES && tail.lines.len() == 2);
    }

    #[test]
    fn a_bad_end_has_its_reason() {
        let step = Step {
            kind: "check",
            name: "src".to_owned(),
            resource: None,
            of_image: false,
        };
        let mut steps = Steps::default();
        assert!(steps.begin("1", &step) && !steps.begin("1", &step));
        steps.print(
            "1",
            &["\x1b[31mno such branch\x1b[0m".to_owned(), String::new()],
        );
        assert_eq!(steps.reason(), None);
        steps.end("1", StepStatus::Failed, "exit status 1");
        assert_eq!(steps.reason().as_deref(), Some("no such branch"));
        steps.end("1", StepStatus::Errored, "no worker\nat all");
        assert_eq!(steps.reason().as_deref(), Some("no worker"));
        assert_eq!(steps.reports()[0].tail[0], "no such branch");
    }
}
