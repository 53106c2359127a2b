//! The reasons why a variable cannot be filled in.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("invalid var '{name}': {reason}")]
    Syntax { name: String, reason: &'static str },
    /// All of them, sorted.
    #[error("undefined vars: {}", .0.join(", "))]
    Undefined(Vec<String>),
    #[error("missing source '{source_name}' in var: {name}")]
    NoSource { source_name: String, name: String },
    #[error("missing field '{field}' in var: {name}")]
    NoField { field: String, name: String },
    #[error("cannot access field '{field}' of non-map value ({kind}) from var: {name}")]
    NotAMap {
        field: String,
        kind: &'static str,
        name: String,
    },
    #[error("cannot interpolate non-primitive value ({kind}) from var: {name}")]
    NotText { kind: &'static str, name: String },
    #[error("the value of '{key}' is not JSON: {reason}")]
    NotJson { key: String, reason: String },
    #[error(
        "the values of its vars are larger than {most} MiB together; use smaller values, or fewer times"
    )]
    TooLarge { most: usize },
    /// The source of the variable could not answer.
    #[error("cannot look up var '{name}': {reason}")]
    Lookup { name: String, reason: String },
}
