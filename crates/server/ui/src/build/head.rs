//! The head of a build: what it is, how it went, who and what began it, and what one may do.

use std::time::Duration;

use askama::Template;

use crate::{
    PageStatus, duration_text,
    marks::{glyph, icon, linked},
    shell::rendered,
};

/// The head of a build's page.
#[derive(Clone, Debug)]
pub struct BuildHead {
    pub id: i64,
    pub status: PageStatus,
    /// Name of the build for people, such as `unit #126`.
    pub heading: String,
    /// The step that decided how the build ended, such as `exit 1 in “test”`.
    pub reason: Option<String>,
    /// Time that the build took, or has taken so far.
    pub duration: Option<Duration>,
    /// Start of an unfinished build's duration in seconds since 1970.
    pub since: Option<i64>,
    /// Time at which the build started, or was created: the word before it, as ISO 8601 and for
    /// people.
    pub at: (String, String, String),
    pub person: Option<BuildPerson>,
    /// Name and address of the build that this one repeats.
    pub rerun_of: Option<(String, String)>,
    pub new_inputs: Vec<NewInput>,
    pub comment: String,
    /// True if the viewer may write the comment.
    pub edits_comment: bool,
    pub actions: Vec<BuildAction>,
}

/// The user or the trigger that a build began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildPerson {
    /// A user's name.
    User(String),
    /// A new version of an input.
    Trigger,
}

/// An input whose version no earlier build of the job had.
#[derive(Clone, Debug)]
pub struct NewInput {
    pub name: String,
    pub version: String,
    pub href: String,
}

/// Something that the viewer may do with a build.
#[derive(Clone, Debug)]
pub struct BuildAction {
    pub text: &'static str,
    pub icon: &'static str,
    pub class: &'static str,
    pub method: &'static str,
    pub url: String,
    /// Question that is asked before.
    pub confirm: Option<String>,
    /// Page to go to afterwards.
    pub goto: Option<String>,
    /// The reason why this is not possible now.
    pub refusal: Option<String>,
}

impl BuildAction {
    /// Returns the markup of a button that does it.
    pub(crate) fn button(&self) -> String {
        rendered(&Button { action: self })
    }
}

impl BuildHead {
    fn took(&self) -> Option<String> {
        self.duration.map(duration_text)
    }

    pub(crate) fn rendered(&self) -> String {
        rendered(&Head { head: self })
    }
}

#[derive(Template)]
#[template(path = "build/head.html")]
struct Head<'a> {
    head: &'a BuildHead,
}

#[derive(Template)]
#[template(path = "build/action.html")]
struct Button<'a> {
    action: &'a BuildAction,
}
