//! The base resource types, native in the binary.
//!
//! A type answers three questions, as the scripts of a custom type's image do: which versions are
//! there (`check`), put one into this folder (`fetch`), make a new one from this folder (`push`).
//! [`main`] is the same interface as a program with JSON on its standard streams. Nothing here
//! knows of builds, containers or the hub.

mod aws;
mod failure;
mod git;
mod github_release;
mod http;
mod inspect;
mod kubernetes;
mod lenient;
mod log;
mod loopback;
mod mock;
mod paths;
mod pool;
mod privilege;
mod program;
mod reach;
mod registry;
mod registry_image;
mod request;
mod s3;
mod scratch;
mod semver;
mod time;
mod versions;

use std::{io::Write, path::Path};

use airside_model::Version;

pub use failure::{Failure, Part};
pub use git::{AskCheckout, checkout_files};
pub use inspect::{SettingsMistake, SettingsPart, inspect_settings};
pub use privilege::Privilege;
pub use program::main;
pub use reach::{METADATA_ACCESS, limit_reach};
pub use registry::{AskedImage, AskedRegistry, Asking, RequestPause, Standing, TagList};
pub use registry_image::{
    Mirror, Mirrors, NoMirror, Registries, ServedImage, download_image, has_image, has_login,
    served_image,
};
pub use request::{CheckInput, InRequest, Object, OutRequest, Produced};
pub use versions::{Constraint, Semver};

/// The names of the types that this crate has.
pub const NATIVE: &[&str] = &[
    "git",
    "github-release",
    "http",
    "kubernetes",
    "mock",
    "pool",
    "registry-image",
    "s3",
    "semver",
    "time",
];

/// The types that this crate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Git,
    GithubRelease,
    Http,
    Kubernetes,
    Mock,
    Pool,
    RegistryImage,
    S3,
    Semver,
    Time,
}

impl Type {
    fn find(name: &str) -> Option<Self> {
        match name {
            "git" => Some(Self::Git),
            "github-release" => Some(Self::GithubRelease),
            "http" => Some(Self::Http),
            "kubernetes" => Some(Self::Kubernetes),
            "mock" => Some(Self::Mock),
            "pool" => Some(Self::Pool),
            "registry-image" => Some(Self::RegistryImage),
            "s3" => Some(Self::S3),
            "semver" => Some(Self::Semver),
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

/// True if `type_` needs no image because this crate has it.
pub fn is_native(type_: &str) -> bool {
    Type::find(type_).is_some()
}

/// True if a type works in an image, if the administrator gives one: `mock` hands the image out,
/// and people who intercept its containers find programs there.
pub fn has_an_image(type_: &str) -> bool {
    Type::find(type_) == Some(Type::Mock)
}

/// True if a get or put runs programs that this crate does not have, and so needs an image with
/// them.
pub fn needs_programs(type_: &str, source: &Object) -> bool {
    match Type::find(type_) {
        Some(Type::Git | Type::Pool) => true,
        Some(Type::Semver) => source.get("driver").is_some_and(|driver| driver == "git"),
        _ => false,
    }
}

/// True if a type may act as the service account of its step's pod. Checks of such a type share no
/// container with checks of other types.
pub fn uses_pod_account(type_: &str) -> bool {
    Type::find(type_) == Some(Type::Kubernetes)
}

/// The versions after the given one, oldest first, beginning with the given one if it still exists.
/// A server that checks by itself says which privilege the check should seem to have.
pub fn check(
    type_: &str,
    request: CheckInput,
    privilege: Privilege,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    match Type::named(type_)? {
        Type::Git => git::check(request, log),
        Type::GithubRelease => github_release::check(request, log),
        Type::Http => http::check(request, log),
        Type::Kubernetes => kubernetes::check(request, log),
        Type::Mock => mock::check(request, privilege, log),
        Type::Pool => pool::check(request, log),
        Type::RegistryImage => registry_image::check(request, log),
        Type::S3 => s3::check(request, log),
        Type::Semver => semver::check(request, log),
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
        Type::Git => git::fetch(request, dest, log),
        Type::GithubRelease => github_release::fetch(request, dest, log),
        Type::Http => http::fetch(request, dest, log),
        Type::Kubernetes => kubernetes::fetch(request, dest, log),
        Type::Mock => mock::fetch(request, dest, log),
        Type::Pool => pool::fetch(request, dest, log),
        Type::RegistryImage => registry_image::fetch(request, dest, log),
        Type::S3 => s3::fetch(request, dest, log),
        Type::Semver => semver::fetch(request, dest, log),
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
        Type::Git => git::push(request, src, log),
        Type::GithubRelease => github_release::push(request, src, log),
        Type::Http => http::push(request, src, log),
        Type::Kubernetes => kubernetes::push(request, src, log),
        Type::Mock => mock::push(request, src, log),
        Type::Pool => pool::push(request, src, log),
        Type::RegistryImage => registry_image::push(request, src, log),
        Type::S3 => s3::push(request, src, log),
        Type::Semver => semver::push(request, src, log),
        Type::Time => time::push(request, log),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_types() {
        for name in NATIVE {
            assert!(is_native(name), "{name}");
        }
        assert!(!is_native("docker-image"));
    }

    #[test]
    fn types_on_top_of_git_need_the_machines_git() {
        let source = |driver: &str| Object::from_iter([("driver".to_owned(), driver.into())]);
        for (type_, driver, needed) in [
            ("git", "", true),
            ("pool", "", true),
            ("semver", "git", true),
            ("semver", "gcs", false),
            ("github-release", "", false),
        ] {
            assert_eq!(
                needs_programs(type_, &source(driver)),
                needed,
                "{type_} {driver}"
            );
        }
    }
}
