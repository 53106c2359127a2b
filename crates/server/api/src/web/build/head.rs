//! The head of a build: words, people and actions, each as far as the viewer may see and do it.

use airside_auth::Action;
use airside_model::Version;
use airside_store::{Build, Micros, now};
use airside_ui::{BuildAction, BuildHead, BuildPerson, NewInput, clock_text};

use super::ShownBuild;
use crate::{scope::job_outline, web::links::pipeline_url};

/// Builds that started within this many seconds are shown with their time of day alone.
const TODAY: u64 = 20 * 3600;

impl ShownBuild<'_> {
    pub(super) fn head(&self, reason: Option<String>) -> BuildHead {
        let build = self.build;
        let ended = build.ended_at.unwrap_or_else(now);
        let began = build.started_at.filter(|_| build.status.is_finished());
        let (word, at) = match build.started_at {
            Some(at) => ("started", at),
            None => ("created", build.created_at),
        };
        let since = build.started_at.unwrap_or(build.created_at);
        let unfinished = !build.status.is_finished();
        BuildHead {
            id: build.id.0,
            status: build.status.into(),
            heading: heading(build),
            reason: reason.or_else(|| build_hint(build)),
            duration: if unfinished {
                Some(now().since(since))
            } else {
                began.map(|began| ended.since(began))
            },
            since: unfinished.then(|| since.seconds()),
            at: (word.to_owned(), iso(at), people_time(at)),
            person: self.person(),
            rerun_of: self.rerun_of(),
            new_inputs: self.new_inputs(),
            comment: if self.sees_output {
                build.comment.clone()
            } else {
                String::new()
            },
            edits_comment: self.request.may(Action::SetBuildComment),
            actions: self.actions(),
        }
    }

    fn person(&self) -> Option<BuildPerson> {
        let build = self.build;
        if let Some(name) = &build.created_by {
            return Some(BuildPerson::User(name.clone()));
        }
        let by_input = build.job.is_some() && !build.manual && build.rerun_of.is_none();
        by_input.then_some(BuildPerson::Trigger)
    }

    fn rerun_of(&self) -> Option<(String, String)> {
        let rerun = self.build.rerun_of.as_ref()?;
        let original = Build {
            id: rerun.build,
            name: rerun.name.clone(),
            ..self.build.clone()
        };
        Some((rerun.name.clone(), self.url_of(&original)))
    }

    fn new_inputs(&self) -> Vec<NewInput> {
        let Ok(pipeline) = self.request.scope.pipeline() else {
            return Vec::new();
        };
        let new = self.versions.inputs.iter();
        let new = new.filter(|input| input.first_occurrence).take(4);
        let shown = new.map(|input| NewInput {
            name: input.name.clone(),
            version: version_text(&input.version),
            href: pipeline_url(pipeline, &["resources", &input.resource_name]),
        });
        shown.collect()
    }

    fn actions(&self) -> Vec<BuildAction> {
        let (build, scope) = (self.build, &self.request.scope);
        let mut actions = Vec::new();
        if !build.status.is_finished() && self.request.may(Action::AbortBuild) {
            actions.push(BuildAction {
                text: "Abort",
                icon: "x",
                class: "btn-danger",
                method: "PUT",
                url: format!("/api/v1/builds/{}/abort", build.id),
                confirm: Some(format!("Abort {}?", heading(build))),
                goto: None,
                refusal: build
                    .aborted
                    .then(|| "The build is being aborted".to_owned()),
            });
        }
        let (Ok(pipeline), Ok(job)) = (scope.pipeline(), scope.job()) else {
            return actions;
        };
        let outline = job_outline(job);
        let archived = pipeline
            .archived
            .then(|| "The pipeline is archived".to_owned());
        let path = |rest: &[&str]| {
            let whole = [&["jobs", &job.name, "builds"], rest].concat();
            format!("/api/v1{}", pipeline_url(pipeline, &whole))
        };
        if build.status.is_finished() && self.request.may(Action::RerunJobBuild) {
            let refusal = outline.rerun_refusal(&job.name, build.inputs_ready);
            actions.push(BuildAction {
                text: "Rerun",
                icon: "again",
                class: "",
                method: "POST",
                url: path(&[&build.name]),
                confirm: None,
                goto: Some("latest".to_owned()),
                refusal: archived.clone().or(refusal),
            });
        }
        if self.request.may(Action::CreateJobBuild) {
            actions.push(BuildAction {
                text: "Trigger",
                icon: "plus",
                class: "btn-primary",
                method: "POST",
                url: path(&[]),
                confirm: None,
                goto: Some("latest".to_owned()),
                refusal: archived.or_else(|| outline.trigger_refusal(&job.name)),
            });
        }
        actions
    }
}

/// Returns the name of a build for people.
fn heading(build: &Build) -> String {
    match (&build.job_name, &build.resource_name) {
        (Some(job), _) => format!("{job} #{}", build.name),
        (None, Some(resource)) => format!("check of {resource}"),
        (None, None) if build.is_check => format!("check {}", build.id),
        (None, None) => format!("build {}", build.id),
    }
}

fn build_hint(build: &Build) -> Option<String> {
    let stops = build.aborted && !build.status.is_finished();
    stops.then(|| "is being aborted".to_owned())
}

/// Returns a version on one line.
pub(super) fn version_text(version: &Version) -> String {
    let pairs = version.0.iter();
    let shown: Vec<_> = pairs
        .map(|(key, value)| format!("{key} {}", airside_ui::short_version(value)))
        .collect();
    shown.join(", ")
}

fn iso(time: Micros) -> String {
    jiff::Timestamp::from_second(time.seconds())
        .map_or_else(|_| String::new(), |time| time.to_string())
}

/// Returns a time of day, with the date where it is not of today.
fn people_time(time: Micros) -> String {
    let clock = clock_text(time.seconds());
    if now().since(time).as_secs() < TODAY {
        return clock;
    }
    let iso = iso(time);
    let date = iso.split('T').next().unwrap_or_default();
    format!("{date} {clock}")
}
