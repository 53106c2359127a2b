//! The error of a text that is not a document, and where it is.

use crate::{MAX_DEPTH, Position};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {kind}", position.line, position.column)]
pub struct Error {
    pub kind: ErrorKind,
    pub position: Position,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    #[error("{0}")]
    Syntax(String),
    #[error("unknown anchor '{0}'")]
    UnknownAnchor(String),
    #[error("the anchor's value contains itself")]
    Recursive,
    #[error("the document repeats too much through aliases")]
    ExcessiveAliasing,
    #[error("lists and maps are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("`<<` needs a map or a list of maps as its value")]
    Merge,
    #[error("{0} cannot be the key of a map")]
    Key(&'static str),
    #[error("`{text}` is not {wanted}, as its tag says")]
    Tag { text: String, wanted: &'static str },
    #[error("the !!binary value is not valid base64")]
    Binary,
    #[error("the number {0} cannot be written as JSON")]
    NotFinite(&'static str),
}

impl ErrorKind {
    pub(crate) fn at(self, position: Position) -> Error {
        Error {
            kind: self,
            position,
        }
    }
}
