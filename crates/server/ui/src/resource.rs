//! The page of a resource: its check, its pin, and its versions in pages.

use airside_model::{MetadataField, Version};
use askama::Template;

use crate::{
    Crumb, Page, PageKind, PageStatus, PageTime, RowTime, SendButton, drawn::whole_version,
    shell::rendered, version_text,
};

/// A resource and one page of its versions.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "resource.html")]
pub struct ResourcePage {
    pub crumbs: Vec<Crumb>,
    /// Id of the resource, for the live stream.
    pub id: i64,
    pub name: String,
    pub type_: String,
    pub icon: &'static str,
    pub check: CheckNote,
    /// Jobs that get or put the resource.
    pub jobs: Vec<String>,
    pub actions: Vec<SendButton>,
    pub pin: Option<PinNote>,
    /// A filter of versions, as typed.
    pub filter: String,
    /// Fields of the address that a search keeps.
    pub kept: Vec<(String, String)>,
    pub rows: Vec<VersionRow>,
    pub newer: Option<String>,
    pub older: Option<String>,
    /// Facts of the configuration, for members of the team.
    pub facts: Vec<(&'static str, String)>,
}

/// The last check of a resource.
#[derive(Clone, Debug, Default)]
pub struct CheckNote {
    /// None: the resource was never checked.
    pub status: Option<PageStatus>,
    pub when: Option<PageTime>,
    pub took: RowTime,
    /// Address of the check's build, if it has one.
    pub href: Option<String>,
    /// Lines that the check wrote, for those who may see them: text, and true for an error.
    pub lines: Vec<(String, bool)>,
}

/// The version that a resource is pinned to.
#[derive(Clone, Debug, Default)]
pub struct PinNote {
    pub version: Version,
    pub in_config: bool,
    pub comment: String,
    pub actions: Vec<SendButton>,
}

/// A version among those of its resource.
#[derive(Clone, Debug, Default)]
pub struct VersionRow {
    pub id: i64,
    pub version: Version,
    pub enabled: bool,
    pub is_pinned: bool,
    /// Metadata, for those who may see it.
    pub metadata: Vec<MetadataField>,
    /// The latest build of each job that had the version.
    pub went: Vec<VersionJob>,
    /// Buttons to enable or disable, and to pin or unpin.
    pub enable: Option<SendButton>,
    pub pin: Option<SendButton>,
    /// Address of the page with this version opened, or closed if it is open.
    pub toggle: String,
    pub opened: Option<OpenedVersion>,
}

/// A job that a version went through.
#[derive(Clone, Debug)]
pub struct VersionJob {
    pub job: String,
    pub status: PageStatus,
    pub href: String,
}

/// The details of a version.
#[derive(Clone, Debug, Default)]
pub struct OpenedVersion {
    pub inputs_to: Vec<VersionBuild>,
    pub outputs_of: Vec<VersionBuild>,
    pub downstream: String,
    pub upstream: String,
}

/// A build that had a version, or made it.
#[derive(Clone, Debug)]
pub struct VersionBuild {
    pub name: String,
    pub href: String,
    pub status: PageStatus,
    pub when: Option<PageTime>,
}

/// The most glyphs of jobs in a row.
const MAX_GLYPHS: usize = 6;

impl ResourcePage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        let places = self.crumbs.iter().rev().map(|crumb| crumb.text.as_str());
        Page {
            title: places.take(2).collect::<Vec<_>>().join(" · "),
            kind: PageKind::Flush,
            crumbs: self.crumbs.clone(),
            body: rendered(self),
            topics: vec![format!("resource:{}", self.id)],
            scripts: vec!["lists.js"],
            marks: vec![("resource-name", self.name.clone())],
            ..Page::default()
        }
    }

    fn range(&self) -> String {
        String::new()
    }
}

impl CheckNote {
    fn is_failing(&self) -> bool {
        matches!(
            self.status,
            Some(PageStatus::Failed | PageStatus::Errored | PageStatus::Aborted)
        )
    }
}

impl PinNote {
    fn short(&self) -> String {
        version_text(&self.version)
    }

    fn whole(&self) -> String {
        whole_version(&self.version)
    }
}

impl VersionRow {
    fn short(&self) -> String {
        version_text(&self.version)
    }

    fn whole(&self) -> String {
        whole_version(&self.version)
    }

    /// Returns the metadata in one line: the message alone, if there is one.
    fn message(&self) -> String {
        let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let named = |name: &str| self.metadata.iter().find(|field| field.name == name);
        if let Some(message) = named("message").or_else(|| named("title")) {
            return first_line(&message.value);
        }
        let fields = self.metadata.iter().take(3);
        let shown = fields.map(|field| format!("{}: {}", field.name, first_line(&field.value)));
        shown.collect::<Vec<_>>().join(", ")
    }

    fn glyphs(&self) -> &[VersionJob] {
        &self.went[..self.went.len().min(MAX_GLYPHS)]
    }
}

/// Returns true if the text may be the address of a link.
fn is_link(text: &str) -> bool {
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    is_web && !text.contains(char::is_whitespace)
}
