//! Pages of teams: all that the viewer belongs to, and one with its roles and pipelines.

use askama::Template;

use crate::{Crumb, Page, PageKind, PageTime, SendButton, shell::rendered};

/// The teams that the viewer belongs to.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "teams.html")]
pub struct TeamsPage {
    pub teams: Vec<TeamRow>,
}

/// A team among others.
#[derive(Clone, Debug)]
pub struct TeamRow {
    pub name: String,
    pub href: String,
    /// The viewer's role.
    pub role: &'static str,
    /// True if its owners administer the installation.
    pub is_admin: bool,
    pub users: usize,
    pub groups: usize,
    pub pipelines: usize,
}

impl TeamsPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        Page {
            title: "Teams".to_owned(),
            crumbs: vec![Crumb::new("Teams", "/airside/teams")],
            body: rendered(self),
            ..Page::default()
        }
    }
}

/// A team with its roles and pipelines.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "team.html")]
pub struct TeamPage {
    pub name: String,
    /// Address of the page.
    pub href: String,
    /// The viewer's role.
    pub role: &'static str,
    pub is_admin: bool,
    pub actions: Vec<SendButton>,
    pub roles: Vec<TeamRole>,
    pub pipelines: Vec<TeamPipeline>,
    /// The pipeline that is about to be destroyed.
    pub destroy: Option<DestroyForm>,
}

/// A role of a team and who has it.
#[derive(Clone, Debug)]
pub struct TeamRole {
    pub name: &'static str,
    pub users: Vec<String>,
    pub groups: Vec<String>,
}

/// A pipeline of a team.
#[derive(Clone, Debug)]
pub struct TeamPipeline {
    pub id: i64,
    pub name: String,
    pub vars: Option<String>,
    pub href: String,
    pub is_paused: bool,
    pub is_archived: bool,
    pub is_public: bool,
    pub paused_by: Option<String>,
    pub updated: PageTime,
    /// True for the first instance of a name, which stands for all in the order.
    pub leads: bool,
    pub expose: Option<SendButton>,
    pub moves: Vec<SendButton>,
    pub actions: Vec<SendButton>,
    /// Address of the page with the question to destroy it.
    pub destroy: Option<String>,
}

/// The question to destroy a pipeline, which asks for its name.
#[derive(Clone, Debug, Default)]
pub struct DestroyForm {
    pub name: String,
    pub vars: Option<String>,
    pub url: String,
    pub archive: Option<SendButton>,
}

impl TeamRole {
    /// Returns what the role allows, in short.
    fn may(&self) -> &'static str {
        match self.name {
            "owner" => "all of it, and members",
            "member" => "set, trigger, pin, abort",
            "pipeline-operator" => "trigger, pin, pause, abort",
            "viewer" => "read",
            _ => "",
        }
    }
}

impl TeamPage {
    /// Makes the page.
    pub fn page(&self) -> Page {
        Page {
            title: format!("{} · teams", self.name),
            kind: PageKind::Flush,
            crumbs: vec![
                Crumb::new("Teams", "/airside/teams"),
                Crumb::new(&self.name, &self.href),
            ],
            body: rendered(self),
            scripts: vec!["lists.js"],
            marks: vec![("team-name", self.name.clone())],
            ..Page::default()
        }
    }
}
