//! The page of a pipeline: its jobs and resources as a graph, and as an outline for small windows
//! and readers.

mod graph;

use askama::Template;

use crate::{
    Crumb, Page, PageKind, PageStatus, PauseNote, RowTime, SendButton, marks::glyph,
    shell::rendered,
};
use graph::PipelineGraph;

/// A pipeline with its jobs and resources, as far as the chosen groups show them.
#[derive(Clone, Debug, Default)]
pub struct PipelinePage {
    pub crumbs: Vec<Crumb>,
    /// Id of the pipeline, for the live stream.
    pub id: i64,
    pub team: String,
    pub name: String,
    /// Instance vars, as text.
    pub vars: Option<String>,
    pub pause: Option<PauseNote>,
    pub archived: bool,
    pub groups: Vec<GroupTab>,
    pub actions: Vec<SendButton>,
    pub jobs: Vec<PipelineJob>,
    pub resources: Vec<PipelineResource>,
    /// True if the viewer asked for the outline.
    pub is_outline: bool,
    /// Addresses of the graph and of the outline.
    pub views: (String, String),
    /// Address of the configuration, where the viewer may see it.
    pub config: Option<String>,
}

/// A group of jobs, as a link that shows it.
#[derive(Clone, Debug)]
pub struct GroupTab {
    pub name: String,
    pub href: String,
    /// Address of the groups that are shown with this one added or taken away.
    pub toggle: String,
    pub is_shown: bool,
}

/// A job in the graph.
#[derive(Clone, Debug)]
pub struct PipelineJob {
    pub id: i64,
    pub name: String,
    /// Address of its latest build, or of the job if it never ran.
    pub href: String,
    pub job_href: String,
    /// Status of the last finished build; paused if the job is.
    pub status: PageStatus,
    /// Status of the oldest unfinished build.
    pub running: Option<PageStatus>,
    /// Name of the build that the status, or the running one, is of.
    pub build: Option<String>,
    pub took: RowTime,
    pub inputs: Vec<PipelineInput>,
    pub outputs: Vec<String>,
}

/// An input of a job in the graph.
#[derive(Clone, Debug)]
pub struct PipelineInput {
    pub resource: String,
    pub passed: Vec<String>,
    pub trigger: bool,
}

/// A resource in the graph.
#[derive(Clone, Debug)]
pub struct PipelineResource {
    pub name: String,
    pub href: String,
    pub icon: &'static str,
    pub is_pinned: bool,
    pub is_failing: bool,
}

impl PipelineJob {
    /// Returns the words of the status, for readers.
    fn words(&self) -> String {
        let mut words = self.status.word().to_owned();
        if let Some(running) = self.running {
            words.push_str(", ");
            words.push_str(running.word());
        }
        words
    }

    fn status_glyph(&self) -> String {
        glyph(self.status, "")
    }

    fn running_glyph(&self) -> String {
        let running = self.running.map(|status| glyph(status, "glyph-14"));
        running.unwrap_or_default()
    }

    /// Returns a number by which lists on small windows put what needs a look first.
    fn urgency(&self) -> u8 {
        match (self.status, self.running) {
            (PageStatus::Failed, _) => 0,
            (PageStatus::Errored, _) => 1,
            (PageStatus::Aborted, _) => 2,
            (_, Some(PageStatus::Started)) => 3,
            (_, Some(_)) => 4,
            _ => 5,
        }
    }
}

impl PipelinePage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        let body = PipelineBody {
            graph: PipelineGraph::of(self),
            it: self,
        };
        Page {
            title: self
                .crumbs
                .last()
                .map_or_else(String::new, |own| own.text.clone()),
            kind: PageKind::Flush,
            crumbs: self.crumbs.clone(),
            body: rendered(&body),
            topics: vec![format!("pipeline:{}", self.id)],
            scripts: vec!["graph.js"],
            marks: vec![
                ("team-name", self.team.clone()),
                ("pipeline-name", self.name.clone()),
            ],
            ..Page::default()
        }
    }

    fn pinned(&self) -> usize {
        self.resources.iter().filter(|it| it.is_pinned).count()
    }

    fn failing(&self) -> usize {
        self.resources.iter().filter(|it| it.is_failing).count()
    }
}

#[derive(Template)]
#[template(path = "pipeline.html")]
struct PipelineBody<'a> {
    it: &'a PipelinePage,
    graph: PipelineGraph<'a>,
}
