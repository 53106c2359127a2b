//! One build as its events tell it: what is shown of it, and what is remembered for the end.

use std::{collections::HashMap, sync::Arc};

use airside_model::{BuildStatus, Version};
use airside_orchestrator::PullStatus;
use serde_json::Value;

use super::{
    json::JsonLines,
    lines::Partial,
    names::{Names, Step},
    steps::{StepReport, StepStatus, Steps},
    view::{FAILURE_MARK, SUCCESS_MARK, View, took},
};

/// Looks for the pull of a step of the build, by the id of its node, while there is one.
pub(crate) type PullLook = Arc<dyn Fn(&str) -> Option<PullStatus> + Send + Sync>;

pub(crate) struct Progress<'a> {
    view: &'a View,
    job: &'a str,
    names: Names,
    steps: Steps<'a>,
    partial: HashMap<String, Partial>,
    /// Versions of gets and puts, by resource; a put replaces a get.
    versions: HashMap<String, (&'static str, Version)>,
    status: Option<BuildStatus>,
    pulls: PullLook,
    /// The check and the get of a step's image, by the step.
    of_image: HashMap<String, Vec<String>>,
}

impl<'a> Progress<'a> {
    /// `plan` is the build's public plan.
    pub(crate) fn new(view: &'a View, job: &'a str, plan: &Value, pulls: PullLook) -> Self {
        let mut names = Names::default();
        names.learn(plan, "");
        for step in names.steps() {
            view.make_room(&format!("{job}/{}", step.name));
        }
        Self {
            view,
            job,
            names,
            steps: Steps::default(),
            partial: HashMap::new(),
            versions: HashMap::new(),
            status: None,
            pulls,
            of_image: HashMap::new(),
        }
    }

    /// Writes what begins, prints and ends as JSON too.
    pub(crate) fn with_json(mut self, json: Option<&'a JsonLines>) -> Self {
        self.steps = Steps::new(self.job, json);
        self
    }

    /// Takes in an event, as the log has it.
    pub(crate) fn take(&mut self, envelope: &str) {
        let Ok(envelope) = serde_json::from_str::<Value>(envelope) else {
            return;
        };
        let data = &envelope["data"];
        let id = data["origin"]["id"].as_str().unwrap_or_default().to_owned();
        let exit = || data["exit_status"].as_i64().unwrap_or_default();
        match envelope["event"].as_str().unwrap_or_default() {
            "status" => self.status = data["status"].as_str().and_then(BuildStatus::parse),
            "initialize" | "initialize-task" | "initialize-get" | "initialize-put"
            | "initialize-check" => self.begin(&id),
            "start" | "start-task" | "start-get" | "start-put" => self.start(&id),
            "log" => self.output(&id, data["payload"].as_str().unwrap_or_default()),
            "finish-task" => self.end(&id, of_exit(exit()), exit_words(exit())),
            "finish-get" | "finish-put" => {
                self.note_version(&id, data);
                self.end(&id, of_exit(exit()), exit_words(exit()));
            }
            "finish" => {
                let status = match data["succeeded"].as_bool() {
                    Some(true) => StepStatus::Succeeded,
                    _ => StepStatus::Failed,
                };
                self.end(&id, status, String::new());
            }
            "error" => self.error(&id, data["message"].as_str().unwrap_or_default()),
            "image-check" | "image-get" => {
                self.names.learn_image(&id, &data["plan"]);
                let image = data["plan"]["id"].as_str().unwrap_or_default();
                self.of_image.entry(id).or_default().push(image.to_owned());
            }
            "across-substeps" => self.names.learn_substeps(&data["substeps"]),
            "waiting-for-worker" => {
                let label = self.label(&id);
                self.view.print_lines(&label, ["waiting for a worker"]);
            }
            _ => {}
        }
    }

    /// Returns the status of the build once it has ended.
    pub(crate) fn status(&self) -> Option<BuildStatus> {
        self.status.filter(|status| status.is_finished())
    }

    /// The version of each resource that the build used, or made.
    pub(crate) fn versions(&self) -> HashMap<String, Version> {
        let versions = self.versions.iter();
        versions
            .map(|(resource, (_, version))| (resource.clone(), version.clone()))
            .collect()
    }

    /// Returns the ends of the steps. Steps that ran when the build ended have its status.
    pub(crate) fn reports(&self) -> Vec<StepReport> {
        self.steps.reports()
    }

    /// Returns why the build did not succeed, as far as one of its steps says it.
    pub(crate) fn reason(&self) -> Option<String> {
        self.steps.reason()
    }

    fn label(&self, id: &str) -> String {
        match self.names.get(id) {
            Some(step) => format!("{}/{}", self.job, step.name),
            None => self.job.to_owned(),
        }
    }

    fn begin(&mut self, id: &str) {
        let Some(step) = self.names.get(id).cloned() else {
            return;
        };
        if !self.steps.begin(id, &step) {
            return;
        }
        let label = self.label(id);
        self.view.make_room(&label);
        let (pulls, own) = (self.pulls.clone(), id.to_owned());
        let probe = Box::new(move || pulls(&own));
        self.view.begin(&self.key(id), &label, step.kind, probe);
    }

    /// A step has what it needs: the time that it took to come by it is not the step's.
    fn start(&mut self, id: &str) {
        if self.steps.restart(id) {
            self.view.restart(&self.key(id));
        }
    }

    /// Returns the name of a step among those of all jobs.
    fn key(&self, id: &str) -> String {
        format!("{}/{id}", self.job)
    }

    fn output(&mut self, id: &str, payload: &str) {
        // A row shows the pull already.
        if self.view.is_live() && (self.pulls)(id).is_some() {
            return;
        }
        let lines = self.partial.entry(id.to_owned()).or_default().take(payload);
        let label = self.label(id);
        self.steps.print(id, &lines);
        self.view
            .print_lines(&label, lines.iter().map(String::as_str));
    }

    fn error(&mut self, id: &str, message: &str) {
        let status = StepStatus::of_error(message);
        if self.steps.has(id) {
            let words = match status {
                StepStatus::Errored => message.to_owned(),
                _ => String::new(),
            };
            return self.end(id, status, words);
        }
        let label = self.label(id);
        self.view.print_lines(&label, message.lines());
    }

    fn end(&mut self, id: &str, status: StepStatus, words: String) {
        self.end_image(id, status);
        let label = self.label(id);
        if let Some(rest) = self.partial.get_mut(id).and_then(Partial::rest) {
            self.view.print_lines(&label, [rest.as_str()]);
            self.steps.print(id, &[rest]);
        }
        let Some((kind, time)) = self.steps.end(id, status, &words) else {
            return;
        };
        self.view.end(&self.key(id));
        let mut lines = words.lines();
        let first = lines
            .next()
            .map_or_else(String::new, |line| format!(": {line}"));
        let mark = mark(status);
        let line = format!("{mark} {kind} {} in {}{first}", status.name(), took(time));
        self.view
            .print_lines(&label, std::iter::once(line.as_str()).chain(lines));
    }

    /// Ends the check and the get of a step's image with the step that waited for them.
    fn end_image(&mut self, id: &str, status: StepStatus) {
        for image in self.of_image.remove(id).unwrap_or_default() {
            if self.steps.is_running(&image) {
                self.steps.end(&image, status, "");
                self.view.end(&self.key(&image));
            }
        }
    }

    fn note_version(&mut self, id: &str, data: &Value) {
        let Some(Step {
            kind,
            resource: Some(resource),
            ..
        }) = self.names.get(id)
        else {
            return;
        };
        let Ok(version) = serde_json::from_value::<Version>(data["version"].clone()) else {
            return;
        };
        let known = self.versions.get(resource);
        if !version.is_empty() && known.is_none_or(|(by, _)| *by == "get" || *kind == "put") {
            self.versions.insert(resource.clone(), (kind, version));
        }
    }
}

fn mark(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Succeeded => SUCCESS_MARK,
        _ => FAILURE_MARK,
    }
}

fn of_exit(code: i64) -> StepStatus {
    match code {
        0 => StepStatus::Succeeded,
        _ => StepStatus::Failed,
    }
}

fn exit_words(code: i64) -> String {
    match code {
        0 => String::new(),
        code => format!("exit status {code}"),
    }
}

#[cfg(test)]
mod tests;
