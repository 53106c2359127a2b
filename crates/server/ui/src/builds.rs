//! The page of all builds that its viewer may see: what waits, what runs, what has finished.

use askama::Template;

use crate::{Crumb, NewVersion, Page, PageStatus, PageTime, RowTime, SendButton, shell::rendered};

/// Builds of all pipelines that the viewer may see.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "builds.html")]
pub struct BuildsPage {
    /// The statuses to choose from: each with its address, and true for the chosen one.
    pub statuses: Vec<(PageStatus, String, bool)>,
    /// The status that is chosen, as the address has it.
    pub status: String,
    /// Teams to choose from, the chosen one first if there is one.
    pub teams: Vec<String>,
    pub team: String,
    pub pipeline: String,
    /// True if the list is of a team, a pipeline or a status.
    pub is_filtered: bool,
    pub waiting: Vec<ListedBuild>,
    pub running: Vec<ListedBuild>,
    pub finished: Vec<ListedBuild>,
    pub newer: Option<String>,
    pub older: Option<String>,
}

/// A build in a list of many jobs.
#[derive(Clone, Debug)]
pub struct ListedBuild {
    pub id: i64,
    /// Its pipeline, job and number.
    pub name: String,
    pub vars: Option<String>,
    pub href: String,
    pub team: String,
    pub status: PageStatus,
    pub by: Option<String>,
    pub rerun_of: Option<String>,
    pub news: Vec<NewVersion>,
    /// Reasons for which the build waits.
    pub reason: Option<String>,
    pub took: RowTime,
    /// The start of a build that runs, or the end of one that does not.
    pub when: Option<PageTime>,
    /// A button to abort the build or to run it again.
    pub action: Option<SendButton>,
}

impl BuildsPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        Page {
            title: "Builds".to_owned(),
            crumbs: vec![Crumb::new("Builds", "/airside/builds")],
            body: rendered(self),
            topics: vec!["builds".to_owned()],
            ..Page::default()
        }
    }

    fn range(&self) -> String {
        String::new()
    }
}
