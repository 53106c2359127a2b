//! The page of a job: its builds in pages, what they took, and what a next one would get.

mod numbers;

use std::time::Duration;

use askama::Template;

pub use numbers::{JobNumbers, JobSample};

use crate::{
    Crumb, Page, PageKind, PageStatus, PageTime, RowTime, SendButton,
    drawn::{duration_bar, whole_version},
    shell::rendered,
    version_text,
};

/// A job and one page of its builds.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "job.html")]
pub struct JobPage {
    pub crumbs: Vec<Crumb>,
    /// Id of the job, for the live stream.
    pub id: i64,
    pub name: String,
    pub groups: Vec<String>,
    /// The last build that finished, and the time since which builds end like it.
    pub last: Option<JobLast>,
    /// The oldest build that has not finished.
    pub next: Option<JobNext>,
    pub pause: Option<PauseNote>,
    /// A reason, besides a pause of its own, for which no build of the job starts.
    pub blocked: Option<String>,
    pub actions: Vec<SendButton>,
    pub numbers: JobNumbers,
    pub rows: Vec<JobBuildRow>,
    pub newer: Option<String>,
    pub older: Option<String>,
    /// Address of the comparison of two builds, up to the name of the first.
    pub compare: String,
    /// Inputs of the next build; none where the viewer may not see them.
    pub inputs: Option<Vec<NextInputRow>>,
    /// Name and address of the build that waits for these inputs.
    pub waiting: Option<(String, String)>,
    /// Resources that a build puts: their names and addresses.
    pub outputs: Vec<(String, String)>,
    pub caches: Vec<CacheRow>,
}

/// The last build that finished.
#[derive(Clone, Debug)]
pub struct JobLast {
    pub status: PageStatus,
    /// Name of the first build of those that ended like the last.
    pub since: String,
    pub when: Option<PageTime>,
}

/// A build that has not finished.
#[derive(Clone, Debug)]
pub struct JobNext {
    pub status: PageStatus,
    pub name: String,
    pub href: String,
}

/// A pause: by whom, if the viewer may know, and since when.
#[derive(Clone, Debug, Default)]
pub struct PauseNote {
    pub by: Option<String>,
    pub since: Option<PageTime>,
}

/// A build among those of its job.
#[derive(Clone, Debug)]
pub struct JobBuildRow {
    pub name: String,
    pub href: String,
    pub status: PageStatus,
    /// Inputs that no build of the job had before.
    pub news: Vec<NewVersion>,
    pub by: Option<String>,
    pub rerun_of: Option<String>,
    pub started: Option<PageTime>,
    /// The time for which a build waits that has not started.
    pub waits: RowTime,
    pub took: RowTime,
    pub comment: String,
}

/// A version that a build was the first to get.
#[derive(Clone, Debug)]
pub struct NewVersion {
    pub resource: String,
    pub icon: &'static str,
    pub version: airside_model::Version,
}

impl NewVersion {
    pub(crate) fn short(&self) -> String {
        version_text(&self.version)
    }

    pub(crate) fn whole(&self) -> String {
        whole_version(&self.version)
    }
}

/// An input that the next build would get, or the reason why it would not.
#[derive(Clone, Debug)]
pub struct NextInputRow {
    pub name: String,
    pub href: String,
    pub icon: &'static str,
    pub chosen: Result<airside_model::Version, String>,
    /// The jobs that the version passed.
    pub passed: Vec<String>,
}

/// A folder that a task keeps from build to build.
#[derive(Clone, Debug)]
pub struct CacheRow {
    pub step: String,
    pub path: String,
    pub clear: Option<SendButton>,
}

impl JobPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        let places = self.crumbs.iter().rev().map(|crumb| crumb.text.as_str());
        Page {
            title: places.take(2).collect::<Vec<_>>().join(" · "),
            kind: PageKind::Flush,
            crumbs: self.crumbs.clone(),
            body: rendered(self),
            topics: vec![format!("job:{}", self.id)],
            scripts: vec!["lists.js"],
            marks: vec![("job-name", self.name.clone())],
            ..Page::default()
        }
    }

    fn status(&self) -> PageStatus {
        match (&self.pause, &self.last, &self.next) {
            (Some(_), _, _) => PageStatus::Paused,
            (None, Some(last), _) => last.status,
            (None, None, Some(next)) => next.status,
            (None, None, None) => PageStatus::Pending,
        }
    }

    fn longest(&self) -> Duration {
        let took = self.rows.iter().filter_map(|row| row.took.duration());
        took.max().unwrap_or_default()
    }

    fn bar(&self, row: &JobBuildRow) -> String {
        let median = self.numbers.median;
        duration_bar(row.status, row.took.duration(), self.longest(), median)
    }

    fn range(&self) -> String {
        match (self.rows.last(), self.rows.first()) {
            (Some(oldest), Some(newest)) if self.rows.len() > 1 => {
                format!("#{} to #{}", oldest.name, newest.name)
            }
            _ => String::new(),
        }
    }
}
