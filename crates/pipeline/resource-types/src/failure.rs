//! The reasons why an action of a resource type did not work, in words for the build log.

use std::path::{Path, PathBuf};

use airside_oci::BadDigest;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("there is not a native resource type named {name:?}")]
    UnknownType { name: String },
    #[error("the request is not what the action expects: {0}")]
    Request(#[source] serde_json::Error),
    /// A key that does not exist, or a value of the wrong kind.
    #[error("{part}{dot}{key} is not valid: {error}",
        dot = if key.is_some() { "." } else { "" }, key = key.as_deref().unwrap_or_default())]
    Invalid {
        part: Part,
        /// Key of the part that the failure is about, if it is about one.
        key: Option<String>,
        error: serde_json::Error,
    },
    /// A key whose value makes no sense, alone or beside others.
    #[error("{part}.{key} {words}")]
    Key {
        part: Part,
        key: String,
        words: String,
    },
    #[error("{path}: {error}", path = path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    /// A failure of another server.
    #[error(transparent)]
    Outbound(#[from] airside_blocking_http::Error),
    /// A registry that answered, and refused.
    #[error("{words}")]
    Refused {
        status: u16,
        /// Time after which the server wants to be asked again.
        retry_after: Option<std::time::Duration>,
        words: String,
    },
    /// A failure of a program whose server is on loopback, where nothing listens.
    #[error("{words}")]
    RefusedOnLoopback { words: String },
    /// A message of the type itself.
    #[error("{0}")]
    Said(String),
}

impl From<BadDigest> for Failure {
    fn from(error: BadDigest) -> Self {
        Self::said(airside_model::chain(&error))
    }
}

impl Failure {
    /// Returns true if the server is on loopback, where nothing listens.
    pub(crate) fn is_refused_on_loopback(&self) -> bool {
        match self {
            Self::Outbound(error) => error.is_refused_on_loopback(),
            Self::RefusedOnLoopback { .. } => true,
            _ => false,
        }
    }

    /// The status of another server's refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::Outbound(error) => error.status(),
            _ => None,
        }
    }

    /// Makes the failure of a registry that lacks an image.
    pub(crate) fn no_image(what: impl std::fmt::Display) -> Self {
        Self::Refused {
            status: 404,
            retry_after: None,
            words: format!("the registry has no image {what}"),
        }
    }

    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    /// Makes a failure about a key of the source; the words continue a sentence that begins with
    /// the key.
    pub(crate) fn source(key: &str, words: impl Into<String>) -> Self {
        Self::key(Part::Source, key, words)
    }

    /// Makes a failure about a key of the params; the words continue a sentence that begins with
    /// the key.
    pub(crate) fn params(key: &str, words: impl Into<String>) -> Self {
        Self::key(Part::Params, key, words)
    }

    fn key(part: Part, key: &str, words: impl Into<String>) -> Self {
        let (key, words) = (key.to_owned(), words.into());
        Self::Key { part, key, words }
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
