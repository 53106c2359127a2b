//! The page of workers: their states, what they lack, and the steps that run there.

use askama::Template;

use crate::{Crumb, Page, PageStatus, PageTime, SendButton, shell::rendered};

/// The workers that the viewer may see.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "workers.html")]
pub struct WorkersPage {
    pub workers: Vec<WorkerRow>,
    pub steps: Vec<WorkerStep>,
    /// Number of running steps that are not shown.
    pub more_steps: usize,
}

/// A worker.
#[derive(Clone, Debug)]
pub struct WorkerRow {
    pub name: String,
    pub kind: WorkerPlace,
    /// The state's word.
    pub state: &'static str,
    pub status: PageStatus,
    pub team: Option<String>,
    pub platform: String,
    pub tags: Vec<String>,
    /// Running steps that the viewer may see.
    pub steps: usize,
    pub containers: i64,
    pub since: PageTime,
    /// All that is not as it should be, in words.
    pub lacks: Vec<String>,
    pub actions: Vec<SendButton>,
}

/// The place where a worker's steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerPlace {
    ThisMachine,
    Cluster,
    Remote,
}

/// A step that runs on a worker.
#[derive(Clone, Debug)]
pub struct WorkerStep {
    /// Handle of the step's container.
    pub key: String,
    pub build: String,
    pub href: String,
    pub step: String,
    pub worker: String,
    pub team: String,
    pub is_starting: bool,
}

impl WorkerPlace {
    fn text(self) -> &'static str {
        match self {
            Self::ThisMachine => "local",
            Self::Cluster => "cluster",
            Self::Remote => "remote",
        }
    }

    fn icon(self) -> &'static str {
        match self {
            Self::ThisMachine => "i-terminal",
            Self::Cluster => "i-cluster",
            Self::Remote => "i-server",
        }
    }
}

impl WorkersPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        Page {
            title: "Workers".to_owned(),
            crumbs: vec![Crumb::new("Workers", "/airside/workers")],
            body: rendered(self),
            topics: vec!["workers".to_owned()],
            ..Page::default()
        }
    }

    fn steps_in_all(&self) -> usize {
        self.steps.len() + self.more_steps
    }
}
