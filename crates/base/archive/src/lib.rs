//! Directory trees as streams: packed as tar+zstd, unpacked so that no entry ever leaves its root.
//!
//! Synchronous and small, because the shim carries it into every step. It knows nothing of volumes,
//! images or networks: bytes in, tree out, and the reverse.
//!
//! The tar crate only lays out and parses headers here. Every name from an archive is resolved by
//! [`root`], the one place that touches the destination.

mod archive;
mod copy;
mod error;
mod hash;
mod layer;
mod pack;
mod pax;
mod remove;
mod root;
mod unpack;

pub use copy::{copy, copy_as};
pub use error::Error;
pub use hash::{Digest, Hasher, HashingReader};
pub use layer::unpack_layer;
pub use pack::{pack, pack_plain};
pub use remove::{clear, remove, remove_counted, set_aside};
pub use root::make_folder;
pub use unpack::{unpack, unpack_plain};

/// Limits of an archive: a larger one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of file contents, after decompression.
    pub bytes: u64,
    /// Files, directories and links.
    pub entries: u64,
}

impl Limits {
    /// No limits: the caller bounds the archive's size already.
    pub const UNBOUNDED: Self = Self {
        bytes: u64::MAX,
        entries: u64::MAX,
    };
}
