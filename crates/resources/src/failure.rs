//! Why an action of a resource type did not work, in words for the build log.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("there is no native resource type named {name:?}")]
    UnknownType { name: String },
    #[error("the request is not what the action expects: {0}")]
    Request(#[source] serde_json::Error),
    /// A key that does not exist, or a value of the wrong kind.
    #[error("{part} is not valid: {error}")]
    Invalid {
        part: Part,
        error: serde_json::Error,
    },
    #[error("{path}: {error}", path = path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    /// What the type itself has to say.
    #[error("{0}")]
    Said(String),
}

impl Failure {
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |error| Self::Io {
            path: path.to_owned(),
            error,
        }
    }
}

/// The part of a request that a failure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Source,
    Params,
    Version,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Params => "params",
            Self::Version => "version",
        })
    }
}
