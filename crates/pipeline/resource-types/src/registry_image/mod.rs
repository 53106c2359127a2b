//! `registry-image`: images of a container registry.
//!
//! The protocol is in [`crate::registry`]; here is which tags are versions (`check`), in which
//! forms an image is handed out (`get`), and how one is pushed (`put`, from what `bundle` reads).

mod bundle;
mod check;
mod get;
mod image;
mod layout;
mod mirrors;
mod pull;
mod put;
mod served;
mod settings;

pub(crate) use self::{check::check, get::fetch, put::push, settings::FORMS};
pub use self::{
    mirrors::{Mirror, Mirrors, NoMirror, Registries},
    pull::{download_image, has_image, has_login},
    served::{ServedImage, served_image},
};
