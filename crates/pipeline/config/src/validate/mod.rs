//! The rules that span several parts of a pipeline. Rules about one step alone are in its own file.

mod advice;
mod artifacts;
mod cycle;
mod display;
mod groups;
mod index;
mod jobs;
mod local_vars;
mod renames;
mod resources;
mod types;
mod var_sources;
mod vault;

use std::collections::{HashMap, HashSet};

use airside_yaml::Span;

use artifacts::Artifacts;
use index::{Index, Matcher};
use local_vars::{Declared, LocalVars};

use crate::reader::{Places, Reader};
use crate::{Config, Job, Problem, Section, Warning, suggest, validate_identifier};

pub(crate) struct Checked {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Warning>,
}

/// Checks what has been read. `reader` knows where it stands in the text. With the names of the
/// native resource types there is also advice about what will not run.
pub(crate) fn validate(config: &Config, reader: &Reader, native: Option<&[&str]>) -> Checked {
    let mut checker = Checker {
        config,
        places: &reader.places,
        steps_missing: reader.steps_missing,
        index: Index::new(config),
        matcher: Matcher::default(),
        hints_left: MOST_HINTS,
        section: Section::Groups,
        seen_gets: HashSet::new(),
        local_vars: LocalVars::default(),
        any_name: false,
        native,
        artifacts: None,
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    groups::check(&mut checker);
    checker.section = Section::Resources;
    resources::check(&mut checker);
    types::check(&mut checker);
    checker.section = Section::VarSources;
    var_sources::check(&mut checker);
    checker.section = Section::Jobs;
    jobs::check(&mut checker);
    cycle::check(&mut checker);
    checker.section = Section::Display;
    display::check(&mut checker);
    if let Some(native) = native {
        advice::check(&mut checker, native);
    }
    Checked {
        problems: checker.problems,
        warnings: checker.warnings,
    }
}

pub(crate) struct Checker<'a> {
    pub(crate) config: &'a Config,
    pub(crate) places: &'a Places,
    /// Some steps could not be read, so it is not known what is unused.
    pub(crate) steps_missing: bool,
    pub(crate) index: Index<'a>,
    matcher: Matcher,
    hints_left: usize,
    pub(crate) section: Section,
    /// Names of the get steps of the job that is being checked.
    pub(crate) seen_gets: HashSet<String>,
    /// Variables that `across` and `load_var` steps of this job have named so far.
    pub(crate) local_vars: LocalVars,
    /// True if the step that is being checked may have any name.
    pub(crate) any_name: bool,
    /// The native resource types, if advice is wanted.
    native: Option<&'a [&'a str]>,
    /// The artifacts that are there so far, if advice is wanted.
    artifacts: Option<Artifacts>,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

/// Searching for the name that was meant takes time; this often is enough.
const MOST_HINTS: usize = 100;

impl<'a> Checker<'a> {
    pub(crate) fn begin_job(&mut self, job: &Job) {
        self.artifacts = self.native.map(|_| Artifacts::of(job));
        self.seen_gets.clear();
        self.local_vars = LocalVars::default();
    }

    /// A new variable of the build.
    pub(crate) fn declare(&mut self, name: &str, path: &str) {
        match self.local_vars.declare(name) {
            Declared::New => {}
            Declared::Repeated => self.problem(path, "repeated var name"),
            Declared::Shadows => {
                let message = format!("{path}: shadows local var '{name}'");
                self.warning("var_shadowed", path, message);
            }
        }
    }

    /// The jobs that a group's name or pattern stands for, or the reason why they are not known.
    pub(crate) fn group_jobs(&mut self, pattern: &str) -> Result<Vec<usize>, String> {
        self.matcher.group_jobs(pattern, &self.index, self.config)
    }

    /// The jobs that a name or pattern of `passed` stands for, or the reason why they are not
    /// known.
    pub(crate) fn passed_jobs(&mut self, pattern: &str) -> Result<Vec<usize>, String> {
        self.matcher.passed_jobs(pattern, &self.index, self.config)
    }

    /// ` (did you mean 'x'?)`, or nothing.
    pub(crate) fn hint<'n>(
        &mut self,
        word: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> String {
        if self.hints_left == 0 {
            return String::new();
        }
        self.hints_left -= 1;
        suggest::hint(word, names)
    }

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
            fixes: Vec::new(),
        });
    }

    /// A warning about what stands at `place`.
    pub(crate) fn warning(&mut self, type_: &str, place: &str, message: String) {
        let span = self.places.find(place);
        self.warnings.push(Warning::new(type_, message, span));
    }

    pub(crate) fn identifier(&mut self, name: &str, path: &str) {
        self.identifier_at(name, path, |checker| {
            // What has a name and more is at fault only for its name.
            let own = format!("{path}.name");
            let named = checker.places.find(&own).is_some();
            if named { own } else { path.to_owned() }
        });
    }

    /// Checks an identifier that stands elsewhere in the text than its path says. Most names are
    /// valid, so the place is looked up only for a problem.
    pub(crate) fn identifier_at(
        &mut self,
        name: &str,
        path: &str,
        place: impl FnOnce(&Self) -> String,
    ) {
        match validate_identifier(name, path) {
            Ok(None) => {}
            Ok(Some(odd)) => {
                let place = place(self);
                self.warning(&odd.type_, &place, odd.message);
            }
            Err(_) => self.problem(path, "identifier cannot be an empty string"),
        }
    }

    /// The name of a task or pipeline, which under `across` may have variables in it.
    pub(crate) fn step_name(&mut self, name: &str, path: &str) {
        if !self.any_name || name.is_empty() {
            self.identifier(name, path);
        }
    }

    pub(crate) fn resource_exists(&mut self, name: &str, path: &str) {
        if name.is_empty() || self.index.has_resource(name) {
            return;
        }
        let config = self.config;
        let names = config
            .resources
            .iter()
            .map(|resource| resource.name.as_str());
        let hint = self.hint(name, names);
        // The step's own `resource:` if it has one, else its name.
        let place = self
            .places
            .find(&format!("{path}.resource"))
            .or_else(|| self.places.find(path));
        self.problem_at(path, place, format!("unknown resource '{name}'{hint}"));
    }

    /// Names in a section must be there and differ from each other and from what has been `seen`.
    /// The path is `jobs.build`, or `jobs[0]` without a name.
    pub(crate) fn names<'n>(
        &mut self,
        section: &str,
        names: impl Iterator<Item = &'n str>,
        seen: &mut HashMap<&'n str, String>,
    ) {
        for (index, name) in names.enumerate() {
            let indexed = format!("{section}[{index}]");
            if name.is_empty() {
                self.plain_problem(&indexed, format!("{indexed} has no name"));
            } else {
                self.identifier(name, &format!("{section}.{name}"));
                if let Some(other) = seen.get(name) {
                    let message = format!("{other} and {indexed} have the same name ('{name}')");
                    self.plain_problem(&indexed, message);
                } else {
                    seen.insert(name, indexed);
                }
            }
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
