//! Checks of the texts that an administrator gives.

use airside_kube_objects::{is_image_name, is_object_name};

/// An installation that the API server would refuse, or that would not do what it says.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{0:?} cannot be the name of a Kubernetes namespace")]
    Namespace(String),
    #[error("{0:?} cannot be the name of a Kubernetes object")]
    Name(String),
    #[error("{0:?} cannot be the name of an image")]
    Image(String),
    #[error("{0:?} is not an absolute path of letters, digits and `._-`")]
    Path(String),
    #[error("{0:?} cannot be a part of an argument: letters, digits and `:/._-` can")]
    Argument(String),
    #[error("the certificates to trust are not PEM: there is no BEGIN CERTIFICATE in them")]
    Certificates,
    #[error("no registry is named that the mirror is for")]
    NoRegistry,
    #[error("a mirror keeps images in a claim or in a bucket, not in both")]
    ClaimAndBucket,
    #[error("the policy that places pods is not a Kubernetes object")]
    Policy(#[from] serde_saphyr::Error),
}

pub(crate) fn check_namespace(text: &str) -> Result<(), InstallError> {
    if is_object_name(text) {
        Ok(())
    } else {
        Err(InstallError::Namespace(text.to_owned()))
    }
}

pub(crate) fn check_name(text: &str) -> Result<(), InstallError> {
    if is_object_name(text) {
        Ok(())
    } else {
        Err(InstallError::Name(text.to_owned()))
    }
}

pub(crate) fn check_image(text: &str) -> Result<(), InstallError> {
    if is_image_name(text) {
        Ok(())
    } else {
        Err(InstallError::Image(text.to_owned()))
    }
}

pub(crate) fn check_argument(text: &str) -> Result<(), InstallError> {
    if is_image_name(text) {
        Ok(())
    } else {
        Err(InstallError::Argument(text.to_owned()))
    }
}

pub(crate) fn check_path(text: &str) -> Result<(), InstallError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
    let is_path = text.len() > 1 && text.starts_with('/') && text.bytes().all(plain);
    if is_path && !text.split('/').any(|part| part == "..") {
        Ok(())
    } else {
        Err(InstallError::Path(text.to_owned()))
    }
}
