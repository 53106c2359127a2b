//! A build beside another one of its job: by default the last before it that succeeded.

use std::collections::{BTreeMap, BTreeSet};

use airside_build_picture::{BuildPicture, PictureStates};
use airside_model::BuildStatus;
use airside_store::{Build, BuildVersions};
use airside_ui::{BuildComparison, ComparedInput, ComparedStep, PageStatus, step_durations};

use super::{ShownBuild, head::version_text, picture::picture_of};
use crate::error::Result;

/// Status and milliseconds of steps, by their names.
type Durations = BTreeMap<String, (PageStatus, Option<i64>)>;

impl ShownBuild<'_> {
    /// Returns the build that this one is compared with: the one that the address names, or the
    /// last green one.
    pub(super) async fn beside(&self, green: Option<Build>) -> Result<Option<Build>> {
        let (Some(name), Some(job)) = (self.request.query("with"), self.build.job) else {
            return Ok(green);
        };
        let named = self.state.store.job_build(job, &name).await?;
        Ok(named.or(green))
    }

    pub(super) async fn compared(&self, other: &Build, here: &BuildPicture) -> Result<String> {
        let versions = self.state.store.build_versions(other.id).await?;
        let mut steps = Vec::new();
        if self.sees_output {
            let there = durations(&picture_of(self.state, other.id).await?, other.status);
            let here = durations(here, self.build.status);
            let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
            steps.extend(names.into_iter().map(|name| ComparedStep {
                name: name.clone(),
                there: there.get(name).copied(),
                here: here.get(name).copied(),
            }));
        }
        let is_green = other.status == BuildStatus::Succeeded && other.id < self.build.id;
        let comparison = BuildComparison {
            other: (other.name.clone(), self.url_of(other), other.status.into()),
            name: self.build.name.clone(),
            status: self.build.status.into(),
            choice: if is_green {
                "a green build before it".to_owned()
            } else {
                String::new()
            },
            inputs: inputs(&versions, &self.versions),
            steps,
        };
        Ok(comparison.rendered())
    }
}

fn durations(picture: &BuildPicture, status: BuildStatus) -> Durations {
    let states = PictureStates::of(picture, status);
    let steps = step_durations(picture, &states).into_iter();
    steps
        .map(|(name, status, millis)| (name, (status, millis)))
        .collect()
}

fn inputs(there: &BuildVersions, here: &BuildVersions) -> Vec<ComparedInput> {
    let text = |versions: &BuildVersions, name: &str| {
        let input = versions.inputs.iter().find(|input| input.name == name);
        input.map_or_else(String::new, |input| version_text(&input.version))
    };
    let names = there.inputs.iter().chain(&here.inputs);
    let names: BTreeSet<&String> = names.map(|input| &input.name).collect();
    let compared = names.into_iter().map(|name| ComparedInput {
        name: name.clone(),
        there: text(there, name),
        here: text(here, name),
    });
    compared.collect()
}
