//! Pages of an installation that is empty, and of addresses that nothing has.

use askama::Template;

use crate::{Page, PageKind, shell::rendered};

/// The first page of an installation without pipelines: the commands to a first green build.
#[derive(Clone, Debug, Template)]
#[template(path = "first_run.html")]
pub struct FirstRun {
    pub external_url: String,
    /// Number of workers that run.
    pub workers: usize,
    /// Team of the viewer and the viewer's role in it.
    pub team: Option<(String, String)>,
}

impl FirstRun {
    /// Makes the page. Its topic tells of the first pipeline.
    pub fn page(&self) -> Page {
        Page {
            title: "First steps".to_owned(),
            kind: PageKind::Middle,
            body: rendered(self),
            topics: vec!["dashboard".to_owned()],
            ..Page::default()
        }
    }
}

/// The page of something that is not there, or not for this viewer.
#[derive(Clone, Debug, Template)]
#[template(path = "no_page.html")]
pub struct NoPage {
    pub title: String,
    pub reason: String,
    /// Places nearby: their names and addresses.
    pub nearby: Vec<(String, String)>,
    /// Address of the login, where that may help.
    pub login: Option<String>,
}

impl NoPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        Page {
            title: self.title.clone(),
            kind: PageKind::Middle,
            body: rendered(self),
            ..Page::default()
        }
    }
}
