//! The rules that span several parts of a pipeline. Rules about one step alone are in its own file.

mod cycle;
mod display;
mod groups;
mod jobs;
mod resources;

use std::collections::HashSet;

use airside_yaml::Span;

use crate::reader::{Places, Reader};
use crate::{Config, Problem, Section, Warning, suggest, validate_identifier};

pub(crate) struct Checked {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Warning>,
}

/// Checks what has been read. `reader` knows where it stands in the text.
pub(crate) fn validate(config: &Config, reader: &Reader) -> Checked {
    let mut checker = Checker {
        config,
        places: &reader.places,
        steps_missing: reader.steps_missing,
        section: Section::Groups,
        seen_gets: HashSet::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    groups::check(&mut checker);
    checker.section = Section::Resources;
    resources::check(&mut checker);
    checker.section = Section::Jobs;
    jobs::check(&mut checker);
    cycle::check(&mut checker);
    checker.section = Section::Display;
    display::check(&mut checker);
    Checked {
        problems: checker.problems,
        warnings: checker.warnings,
    }
}

pub(crate) struct Checker<'a> {
    pub(crate) config: &'a Config,
    pub(crate) places: &'a Places,
    /// Some steps could not be read, so nothing can be said about what is not used.
    pub(crate) steps_missing: bool,
    pub(crate) section: Section,
    /// Names of the get steps of the job that is being checked.
    pub(crate) seen_gets: HashSet<String>,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl Checker<'_> {
    /// A problem with what stands at `path`.
    pub(crate) fn problem(&mut self, path: &str, message: impl Into<String>) {
        let span = self.places.find(path);
        self.problem_at(path, span, message);
    }

    pub(crate) fn problem_at(
        &mut self,
        path: &str,
        span: Option<Span>,
        message: impl Into<String>,
    ) {
        let path = Some(path.to_owned());
        self.push(path, span, message.into());
    }

    /// A problem whose message says by itself what it is about.
    pub(crate) fn plain_problem(&mut self, place: &str, message: impl Into<String>) {
        let span = self.places.find(place);
        self.push(None, span, message.into());
    }

    fn push(&mut self, path: Option<String>, span: Option<Span>, message: String) {
        self.problems.push(Problem {
            section: self.section,
            path,
            message,
            span,
        });
    }

    pub(crate) fn warning(&mut self, type_: &str, message: String) {
        self.warnings.push(Warning::new(type_, message));
    }

    pub(crate) fn identifier(&mut self, name: &str, path: &str) {
        match validate_identifier(name, path) {
            Ok(warning) => self.warnings.extend(warning),
            Err(_) => self.problem(path, "identifier cannot be an empty string"),
        }
    }

    pub(crate) fn resource_exists(&mut self, name: &str, path: &str) {
        if name.is_empty() || self.config.resource(name).is_some() {
            return;
        }
        let names = self
            .config
            .resources
            .iter()
            .map(|resource| resource.name.as_str());
        let hint = suggest::hint(name, names);
        // The step's own `resource:` if it has one, else its name.
        let place = self
            .places
            .find(&format!("{path}.resource"))
            .or_else(|| self.places.find(path));
        self.problem_at(path, place, format!("unknown resource '{name}'{hint}"));
    }

    /// Names in a section must be there and differ. The path is `jobs.build`, or `jobs[0]` without a
    /// name.
    pub(crate) fn names<'n>(&mut self, section: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, name) in names.enumerate() {
            let indexed = format!("{section}[{index}]");
            if name.is_empty() {
                self.plain_problem(&indexed, format!("{indexed} has no name"));
            } else {
                self.identifier(name, &format!("{section}.{name}"));
                if let Some(other) = seen.iter().position(|seen| *seen == name) {
                    let message =
                        format!("{section}[{other}] and {indexed} have the same name ('{name}')");
                    self.plain_problem(&indexed, message);
                }
            }
            seen.push(name);
        }
    }
}

/// `jobs.build`, or `jobs[0]` for one without a name.
pub(crate) fn path_of(section: &str, index: usize, name: &str) -> String {
    if name.is_empty() {
        format!("{section}[{index}]")
    } else {
        format!("{section}.{name}")
    }
}
