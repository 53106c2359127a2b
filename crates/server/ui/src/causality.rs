//! The page of a version's causality: what came of it, or what it came from, in columns.

use airside_model::Version;
use askama::Template;

use crate::{
    Crumb, Page, PageKind, PageStatus, drawn::whole_version, shell::rendered, version_text,
};

/// A version, and the builds and versions that hang together with it.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "causality.html")]
pub struct CausalityPage {
    pub crumbs: Vec<Crumb>,
    pub resource: String,
    pub icon: &'static str,
    pub version: Version,
    pub is_upstream: bool,
    /// Addresses of both directions.
    pub upstream: String,
    pub downstream: String,
    /// Address of the resource, where all versions are.
    pub versions: String,
    /// True if there is more than a page can hold.
    pub is_too_large: bool,
    pub columns: Vec<CausalityColumn>,
}

/// Builds or versions that are equally far from the version.
#[derive(Clone, Debug)]
pub enum CausalityColumn {
    Builds(Vec<RelatedJob>),
    Versions(Vec<RelatedNode>),
}

/// Builds of one job, newest first.
#[derive(Clone, Debug)]
pub struct RelatedJob {
    pub name: String,
    pub builds: Vec<RelatedNode>,
    /// Number of builds that are not shown.
    pub more: usize,
}

/// A build or a version.
#[derive(Clone, Debug)]
pub struct RelatedNode {
    pub text: String,
    pub whole: String,
    pub href: String,
    /// None for a version.
    pub status: Option<PageStatus>,
}

impl CausalityPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        let direction = if self.is_upstream {
            "upstream"
        } else {
            "downstream"
        };
        Page {
            title: format!("{} {} {direction}", self.resource, self.short()),
            kind: PageKind::Flush,
            crumbs: self.crumbs.clone(),
            body: rendered(self),
            ..Page::default()
        }
    }

    fn short(&self) -> String {
        version_text(&self.version)
    }

    fn whole(&self) -> String {
        whole_version(&self.version)
    }

    /// Returns the numbers of builds, of jobs and of versions.
    fn counts(&self) -> (usize, usize, usize) {
        let mut counts = (0, std::collections::BTreeSet::new(), 0);
        for column in &self.columns {
            match column {
                CausalityColumn::Versions(versions) => counts.2 += versions.len(),
                CausalityColumn::Builds(jobs) => {
                    for job in jobs {
                        counts.0 += job.builds.len() + job.more;
                        counts.1.insert(job.name.as_str());
                    }
                }
            }
        }
        (counts.0, counts.1.len(), counts.2)
    }
}
