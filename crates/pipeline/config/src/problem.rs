//! Problems of a pipeline or task, with their places.

use std::fmt;

use airside_yaml::Span;

/// The part of a pipeline that a problem is in; `fly` shows problems by section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The text is not even a document.
    Syntax,
    Groups,
    Resources,
    ResourceTypes,
    Prototypes,
    VarSources,
    Jobs,
    Display,
    UserData,
    /// A task file.
    Task,
}

impl Section {
    /// Returns the title that `fly` shows.
    pub fn title(self) -> &'static str {
        match self {
            Self::Syntax => "document",
            Self::Groups => "groups",
            Self::Resources => "resources",
            Self::ResourceTypes => "resource types",
            Self::Prototypes => "prototypes",
            Self::VarSources => "variable sources",
            Self::Jobs => "jobs",
            Self::Display => "display config",
            Self::UserData => "user data",
            Self::Task => "task configuration",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub section: Section,
    /// `jobs.build.plan.do[1].task(unit)`; absent where the message itself says what it is about.
    pub path: Option<String>,
    pub message: String,
    /// Absent where nothing in the text is to blame, as with something missing altogether.
    pub span: Option<Span>,
    /// Edits that certainly mend it, if there are any.
    pub fixes: Vec<Fix>,
}

/// An edit of the text, within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Place of the text that is replaced.
    pub span: Span,
    pub action: FixAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixAction {
    /// Writes `to` in the place of `from`.
    Replace { from: String, to: String },
    /// Puts quotes around what is written, which makes a text of it.
    Quote,
}

impl Fix {
    pub fn quote(span: Span) -> Self {
        Self {
            span,
            action: FixAction::Quote,
        }
    }

    pub(crate) fn replace(span: Span, from: &str, to: impl Into<String>) -> Self {
        let (from, to) = (from.to_owned(), to.into());
        Self {
            span,
            action: FixAction::Replace { from, to },
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{path}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Problem {}

/// The problems as the API returns them to `fly`: one text per section, as Concourse writes it.
pub fn api_errors(problems: &[Problem]) -> Vec<String> {
    let mut sections: Vec<Section> = problems.iter().map(|problem| problem.section).collect();
    sections.sort_unstable();
    sections.dedup();
    sections
        .into_iter()
        .map(|section| section_error(section, problems))
        .collect()
}

fn section_error(section: Section, problems: &[Problem]) -> String {
    let in_section = problems.iter().filter(|problem| problem.section == section);
    if section == Section::Syntax {
        return in_section.map(malformed).collect();
    }
    let messages = in_section.map(Problem::to_string);
    let mut text = format!("invalid {}:\n", section.title());
    for line in messages.flat_map(|message| message.lines().map(str::to_owned).collect::<Vec<_>>())
    {
        text.push('\t');
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns the message about a document that cannot be read. Nothing else is known then, so
/// there is only one such problem.
fn malformed(problem: &Problem) -> String {
    let place = problem.span.map(|span| span.start);
    let place = place.map(|at| format!("line {}, column {}: ", at.line, at.column));
    format!("malformed config: {}{problem}", place.unwrap_or_default())
}
