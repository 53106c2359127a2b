//! The page of one build: tabs of its neighbours, its head, and what the chosen tab shows.

mod bodies;
mod compare;
mod drawing;
mod head;
mod inputs;
mod steps;
mod timeline;
mod tree;
mod versions;
mod waiting;

use askama::Template;

use crate::{
    Crumb, Page, PageKind, PageStatus,
    marks::{glyph, icon, status_glyph},
    shell::rendered,
};

pub use compare::{BuildComparison, ComparedInput, ComparedStep};
pub use head::{BuildAction, BuildHead, BuildPerson, NewInput};
pub use inputs::{BuildInputs, InputRow};
pub use steps::{BuildSteps, StepsContext};
pub use timeline::timeline;
pub use tree::step_durations;
pub use versions::short_version;
pub use waiting::{BuildWait, PlannedStep, WaitReason};

/// A build among those of its job.
#[derive(Clone, Debug)]
pub struct BuildTab {
    pub name: String,
    pub href: String,
    pub status: PageStatus,
    pub is_here: bool,
}

/// The builds around one, the newest first.
#[derive(Clone, Debug, Default)]
pub struct BuildTabs {
    pub tabs: Vec<BuildTab>,
    /// Address of this page with newer builds.
    pub newer: Option<String>,
    /// Address of this page with older builds.
    pub older: Option<String>,
    /// A newer build that is unfinished.
    pub next: Option<BuildTab>,
}

/// The part of the page that its address chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuildSection {
    #[default]
    Log,
    Timeline,
    Inputs,
    Compare,
}

impl BuildSection {
    /// Reads the name that addresses have for it; any other text is the log.
    pub fn from_name(name: &str) -> Self {
        match name {
            "timeline" => Self::Timeline,
            "inputs" => Self::Inputs,
            "compare" => Self::Compare,
            _ => Self::Log,
        }
    }
}

/// The page of one build.
#[derive(Clone, Debug)]
pub struct BuildPage {
    pub id: i64,
    /// Number of the build in its job, or its id.
    pub name: String,
    pub team: String,
    pub pipeline: Option<String>,
    pub job: Option<String>,
    /// Id of the job, whose further builds the strip shows.
    pub job_id: Option<i64>,
    pub crumbs: Vec<Crumb>,
    /// Address of this page without a section.
    pub url: String,
    pub tabs: BuildTabs,
    pub head: BuildHead,
    pub section: BuildSection,
    /// Name and status of the build that this one is compared with, if there is one.
    pub compared_with: Option<(String, PageStatus)>,
    /// True if the viewer may see steps and output.
    pub sees_output: bool,
    /// The rendered section.
    pub content: String,
}

impl BuildPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        let place = self.pipeline.as_deref().unwrap_or(&self.team);
        let mark = status_mark(self.head.status);
        let mut marks = vec![
            ("team-name", self.team.clone()),
            ("build-name", self.name.clone()),
            ("build-id", self.id.to_string()),
        ];
        marks.extend(self.pipeline.clone().map(|name| ("pipeline-name", name)));
        marks.extend(self.job.clone().map(|name| ("job-name", name)));
        let is_log = self.section == BuildSection::Log;
        Page {
            title: format!("{mark} {} · {place}", self.head.heading),
            kind: PageKind::Flush,
            crumbs: self.crumbs.clone(),
            body: rendered(&Whole {
                page: self,
                tabs: rendered(&Tabs { tabs: &self.tabs }),
                head: self.head.rendered(),
                sections: self.sections(),
                has_tools: is_log && self.sees_output,
            }),
            topics: std::iter::once(format!("build:{}", self.id))
                .chain(self.job_id.map(|job| format!("job:{job}")))
                .collect(),
            scripts: vec!["build.js"],
            symbols: vec!["i-arrow-down", "i-download", "i-copy", "i-x"],
            marks,
            status: Some(self.head.status),
            ..Page::default()
        }
    }

    fn sections(&self) -> Vec<SectionTab> {
        let tab = |section, name: &str, text: &str| SectionTab {
            href: with_tab(&self.url, name),
            text: text.to_owned(),
            is_here: self.section == section,
            status: None,
        };
        let mut tabs = vec![
            tab(BuildSection::Log, "", "Log"),
            tab(BuildSection::Timeline, "timeline", "Timeline"),
            tab(BuildSection::Inputs, "inputs", "Inputs and outputs"),
        ];
        if let Some((name, status)) = &self.compared_with {
            let mut compare = tab(BuildSection::Compare, "compare", "");
            (compare.text, compare.status) = (format!("Compare with {name}"), Some(*status));
            tabs.push(compare);
        }
        tabs
    }
}

/// Returns the address of a section of the page.
fn with_tab(url: &str, tab: &str) -> String {
    match (tab, url.contains('?')) {
        ("", _) => url.to_owned(),
        (tab, true) => format!("{url}&tab={tab}"),
        (tab, false) => format!("{url}?tab={tab}"),
    }
}

/// Returns the sign for the title of a browser's tab.
fn status_mark(status: PageStatus) -> &'static str {
    match status {
        PageStatus::Succeeded => "✓",
        PageStatus::Failed => "✗",
        PageStatus::Errored => "⚠",
        PageStatus::Aborted => "⊘",
        PageStatus::Started => "◐",
        _ => "…",
    }
}

struct SectionTab {
    href: String,
    text: String,
    is_here: bool,
    status: Option<PageStatus>,
}

#[derive(Template)]
#[template(path = "build/page.html")]
struct Whole<'a> {
    page: &'a BuildPage,
    tabs: String,
    head: String,
    sections: Vec<SectionTab>,
    has_tools: bool,
}

#[derive(Template)]
#[template(path = "build/tabs.html")]
struct Tabs<'a> {
    tabs: &'a BuildTabs,
}
