//! A build beside another one: inputs first, then the times of their steps.

use std::time::Duration;

use askama::Template;

use crate::{
    PageStatus, duration_text,
    marks::{glyph, icon},
    shell::rendered,
};

/// An input of either build; a version is empty where the build does not have the input.
#[derive(Clone, Debug)]
pub struct ComparedInput {
    pub name: String,
    pub there: String,
    pub here: String,
}

/// A step of either build: status and milliseconds there and here.
#[derive(Clone, Debug)]
pub struct ComparedStep {
    pub name: String,
    pub there: Option<(PageStatus, Option<i64>)>,
    pub here: Option<(PageStatus, Option<i64>)>,
}

/// A build beside another one of its job.
#[derive(Clone, Debug)]
pub struct BuildComparison {
    /// Name, address and status of the other build.
    pub other: (String, String, PageStatus),
    pub name: String,
    pub status: PageStatus,
    /// Words about the choice of the other build.
    pub choice: String,
    pub inputs: Vec<ComparedInput>,
    pub steps: Vec<ComparedStep>,
}

impl BuildComparison {
    /// Renders the section: what differs first.
    pub fn rendered(&self) -> String {
        let mut inputs: Vec<&ComparedInput> = self.inputs.iter().collect();
        inputs.sort_by_key(|input| input.there == input.here);
        let changed = inputs
            .iter()
            .filter(|input| input.there != input.here)
            .count();
        let mut steps: Vec<StepDifference<'_>> = self.steps.iter().map(difference).collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.millis.abs()));
        rendered(&Compare {
            compared: self,
            inputs,
            changed,
            steps,
        })
    }
}

struct StepDifference<'a> {
    step: &'a ComparedStep,
    there: String,
    here: String,
    millis: i64,
    text: String,
}

fn difference(step: &ComparedStep) -> StepDifference<'_> {
    let millis = |side: Option<(PageStatus, Option<i64>)>| side.and_then(|(_, millis)| millis);
    let (there, here) = (millis(step.there), millis(step.here));
    let difference = there.zip(here).map_or(0, |(there, here)| here - there);
    let sign = if difference < 0 { "−" } else { "+" };
    StepDifference {
        step,
        there: there.map_or_else(|| "–".to_owned(), millis_text),
        here: here.map_or_else(|| "–".to_owned(), millis_text),
        millis: difference,
        text: if difference.abs() < 100 {
            String::new()
        } else {
            format!("{sign}{}", millis_text(difference.abs()))
        },
    }
}

fn millis_text(millis: i64) -> String {
    duration_text(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

#[derive(Template)]
#[template(path = "build/compare.html")]
struct Compare<'a> {
    compared: &'a BuildComparison,
    inputs: Vec<&'a ComparedInput>,
    changed: usize,
    steps: Vec<StepDifference<'a>>,
}
