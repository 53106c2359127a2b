//! The reasons why a build waits, in the place of its steps.

use std::time::Duration;

use askama::Template;

use crate::{
    PageStatus, duration_text,
    marks::{glyph, icon},
    shell::rendered,
};

/// One condition that a build must meet before it starts.
#[derive(Clone, Debug)]
pub struct WaitReason {
    pub text: String,
    /// Thing that the text is about: its name and address.
    pub of: Option<(String, String)>,
    pub is_met: bool,
    /// Words about a condition that is not met.
    pub details: Vec<String>,
    /// What to do: a text and an address.
    pub links: Vec<(String, String)>,
}

/// A step that the build will run.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    pub kind: &'static str,
    pub name: String,
}

/// A build that has not started.
#[derive(Clone, Debug)]
pub struct BuildWait {
    pub waited: Duration,
    /// Seconds since 1970 at which the build was created.
    pub since: i64,
    pub reasons: Vec<WaitReason>,
    pub planned: Vec<PlannedStep>,
}

impl BuildWait {
    /// Renders the part of the page that has the reasons.
    pub fn rendered(&self) -> String {
        let unmet = self.reasons.iter().filter(|reason| !reason.is_met).count();
        let title = match unmet {
            0 => "for its turn".to_owned(),
            1 => "for one thing".to_owned(),
            count => format!("for {count} things"),
        };
        rendered(&Waiting {
            wait: self,
            waited: duration_text(self.waited),
            title,
        })
    }
}

impl PlannedStep {
    fn icon(&self) -> &'static str {
        match self.kind {
            "get" => "branch",
            "put" => "out",
            "set_pipeline" => "graph",
            "load_var" => "key",
            _ => "terminal",
        }
    }
}

#[derive(Template)]
#[template(path = "build/waiting.html")]
struct Waiting<'a> {
    wait: &'a BuildWait,
    waited: String,
    title: String,
}
