//! The messages between the image store and its confined processes: one request on standard input,
//! lines on standard output, all JSON. Every line but the last is [`PullerAnswer::Progress`].

use std::path::PathBuf;

use airside_oci::Digest;
use airside_pulls::PullProgress;
use airside_resource_types::Object;
use serde::{Deserialize, Serialize};

use crate::PullFault;

/// A question to one process. A source may hold secrets.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PullerRequest {
    /// The digest that the source's tag stands for now.
    Resolve { source: Object },
    /// True if the source's registry gives this image to the source's user.
    Has { source: Object, digest: Digest },
    /// The image's blobs, into the working folder, if they have no more bytes than that.
    Download {
        source: Object,
        digest: Digest,
        most: u64,
    },
    /// The layers unpacked over each other into the working folder, with no more bytes than that.
    Unpack { layers: Vec<Layer>, most: u64 },
}

/// A layer that is on the disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) digest: Digest,
    pub(crate) media_type: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PullerAnswer {
    /// The request is under way, and an answer follows.
    Progress(PullProgress),
    Digest(Option<Digest>),
    Has(bool),
    Done,
    /// The registry was asked as often as made sense.
    NotPulled {
        words: String,
        fault: PullFault,
    },
    DiskFull,
    Mismatch {
        expected: Digest,
        actual: String,
    },
    BadLayer {
        layer: Digest,
        words: String,
    },
    MediaType {
        layer: Digest,
        media_type: String,
    },
    /// The process itself is in trouble.
    Broken(String),
}
