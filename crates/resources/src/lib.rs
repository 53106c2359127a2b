//! The base resource types, native in the binary.
//!
//! A type answers three questions, as the scripts of a custom type's image do: which versions are
//! there (`check`), put one into this folder (`fetch`), make a new one from this folder (`push`).
//! [`main`] gives the same as a program with JSON on its standard streams. Nothing here knows of
//! builds, containers or the hub.

#![forbid(unsafe_code)]

mod failure;
mod mock;
mod privilege;
mod program;
mod request;
mod time;

use std::{io::Write, path::Path};

use airside_model::Version;

pub use failure::{Failure, Part};
pub use privilege::Privilege;
pub use program::main;
pub use request::{CheckRequest, InRequest, Object, OutRequest, Produced};

/// The types that this crate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Mock,
    Time,
}

impl Type {
    fn find(name: &str) -> Option<Self> {
        match name {
            "mock" => Some(Self::Mock),
            "time" => Some(Self::Time),
            _ => None,
        }
    }

    fn named(name: &str) -> Result<Self, Failure> {
        Self::find(name).ok_or_else(|| Failure::UnknownType {
            name: name.to_owned(),
        })
    }
}

/// Whether `type_` needs no image because this crate has it.
pub fn is_native(type_: &str) -> bool {
    Type::find(type_).is_some()
}

/// Whether a type works in an image, if the operator gives one: `mock` hands that out, and whoever
/// looks into its containers finds programs there.
pub fn has_an_image(type_: &str) -> bool {
    Type::find(type_) == Some(Type::Mock)
}

/// The versions after the given one, oldest first, beginning with the given one if it still exists.
/// A server that checks by itself says which privilege the check should seem to have.
pub fn check(
    type_: &str,
    request: CheckRequest,
    privilege: Privilege,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    match Type::named(type_)? {
        Type::Mock => mock::check(request, privilege, log),
        Type::Time => time::check(request, log),
    }
}

/// Puts one version into `dest`.
pub fn fetch(
    type_: &str,
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    match Type::named(type_)? {
        Type::Mock => mock::fetch(request, dest, log),
        Type::Time => time::fetch(request, dest, log),
    }
}

/// Makes a new version from what is in `src`.
pub fn push(
    type_: &str,
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    match Type::named(type_)? {
        Type::Mock => mock::push(request, src, log),
        Type::Time => time::push(request, log),
    }
}
