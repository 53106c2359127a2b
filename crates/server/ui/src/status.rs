//! Statuses as pages show them: a word, a glyph and a class.

use airside_model::BuildStatus;

/// A status of a build, a job or a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageStatus {
    Pending,
    Started,
    Succeeded,
    Failed,
    Errored,
    Aborted,
    Paused,
    Skipped,
}

impl PageStatus {
    /// Returns the name that classes (`s-…`), glyphs (`g-…`) and cells (`c-…`) are made of.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Aborted => "aborted",
            Self::Paused => "paused",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Started => "running",
            Self::Skipped => "not run",
            _ => self.name(),
        }
    }

    /// Returns true while the build goes on.
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Pending | Self::Started)
    }
}

impl From<BuildStatus> for PageStatus {
    fn from(status: BuildStatus) -> Self {
        match status {
            BuildStatus::Pending => Self::Pending,
            BuildStatus::Started => Self::Started,
            BuildStatus::Succeeded => Self::Succeeded,
            BuildStatus::Failed => Self::Failed,
            BuildStatus::Errored => Self::Errored,
            BuildStatus::Aborted => Self::Aborted,
        }
    }
}
