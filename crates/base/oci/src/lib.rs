//! Reads the texts of the image world: names, digests, manifests, challenges and byte ranges.
//!
//! | text | reader |
//! |---|---|
//! | `busybox:1.36@sha256:…` | [`Reference`], [`Repository`] |
//! | `team/main/app`, `latest` | [`RepositoryName`], [`Tag`], [`TagOrDigest`] |
//! | `sha256:…` | [`Digest`] |
//! | `linux/arm/v7` | [`Platform`] |
//! | a manifest or an index | [`Document`] |
//! | an image's configuration | [`ImageConfig`] |
//! | `WWW-Authenticate` and the token that follows | [`Challenge`], [`read_token`] |
//! | `Range`, `Content-Range` | [`ByteRange`], [`read_upload_range`] |
//!
//! **Invariants:** every reader either returns a value whose parts are safe in a path, a URL and a
//! header, or an error that says why; no input makes one panic. Documents are bounded in bytes
//! ([`MAX_DOCUMENT_BYTES`]), in entries ([`MAX_DESCRIPTORS`]) and, by their users, in depth
//! ([`MAX_INDEX_DEPTH`]).
//!
//! The crate `oci-spec` has types for the same documents. Ours stay: that crate has no bounds,
//! takes a document that is an image and an index at once, reads neither challenges nor ranges, and
//! brings regular expressions and builders into the shim, whose size is limited.
//!
//! *Absent:* sockets, files and clocks.

mod challenge;
mod config;
mod descriptor;
mod digest;
mod document;
mod host;
pub mod media_type;
mod name;
mod platform;
mod range;
mod realm;
mod reference;

pub use self::{
    challenge::{BadToken, BearerChallenge, Challenge, MAX_TOKEN_BYTES, read_token},
    config::{ImageConfig, ImageSettings},
    descriptor::Descriptor,
    digest::{BadDigest, Digest},
    document::{
        BadDocument, Document, Index, MAX_DESCRIPTORS, MAX_DOCUMENT_BYTES, MAX_INDEX_DEPTH,
        Manifest,
    },
    host::{is_registry_host, names_registry},
    name::{
        BadRepositoryName, BadTag, BadTagOrDigest, RepositoryName, Tag, TagOrDigest, is_name_part,
    },
    platform::{BadPlatform, Platform, architecture},
    range::{ByteRange, OutsideRange, read_upload_range},
    realm::BadRealm,
    reference::{BadReference, DOCKER_HUB, Reference, ReferenceParts, Repository},
};

/// Characters of a stranger's text that an error repeats.
const MAX_QUOTED_CHARS: usize = 160;

/// Returns the beginning of a text that came from elsewhere, for an error.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_QUOTED_CHARS).collect()
}
