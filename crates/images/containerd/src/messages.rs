//! What is said over the socket. The numbers are the protocols' own; fields that nobody here needs are left out, and are
//! passed over when they come.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct VersionRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Version {
    #[prost(string, tag = "2")]
    pub(crate) runtime_name: String,
    #[prost(string, tag = "3")]
    pub(crate) runtime_version: String,
}

/// Of images or of containers, without a filter.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListRequest {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RuntimeImages {
    #[prost(message, repeated, tag = "1")]
    pub(crate) images: Vec<RuntimeImage>,
}

/// An image as the kubelet is told of it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RuntimeImage {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, repeated, tag = "2")]
    pub(crate) tags: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) digests: Vec<String>,
    #[prost(uint64, tag = "4")]
    pub(crate) size: u64,
    #[prost(bool, tag = "8")]
    pub(crate) pinned: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ImageSpec {
    #[prost(string, tag = "1")]
    pub(crate) image: String,
}

/// Who pulls. Never printed: the derived words would have the password.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(crate) struct AuthConfig {
    #[prost(string, tag = "1")]
    pub(crate) username: String,
    #[prost(string, tag = "2")]
    pub(crate) password: String,
}

impl std::fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthConfig")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PullRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) image: Option<ImageSpec>,
    #[prost(message, optional, tag = "2")]
    pub(crate) auth: Option<AuthConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Pulled {
    #[prost(string, tag = "1")]
    pub(crate) image_ref: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Containers {
    #[prost(message, repeated, tag = "1")]
    pub(crate) containers: Vec<Container>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Container {
    #[prost(message, optional, tag = "4")]
    pub(crate) image: Option<ImageSpec>,
    #[prost(string, tag = "5")]
    pub(crate) image_ref: String,
    #[prost(string, tag = "10")]
    pub(crate) image_id: String,
}

/// A name of containerd's: one image has several, the id among them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NamedImage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(btree_map = "string, string", tag = "2")]
    pub(crate) labels: super::Labels,
    #[prost(message, optional, tag = "3")]
    pub(crate) target: Option<Descriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Descriptor {
    #[prost(string, tag = "1")]
    pub(crate) media_type: String,
    #[prost(string, tag = "2")]
    pub(crate) digest: String,
    #[prost(int64, tag = "3")]
    pub(crate) size: i64,
    #[prost(btree_map = "string, string", tag = "5")]
    pub(crate) annotations: super::Labels,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListNames {
    #[prost(string, repeated, tag = "1")]
    pub(crate) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NamedImages {
    #[prost(message, repeated, tag = "1")]
    pub(crate) images: Vec<NamedImage>,
}

/// To get or to delete.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OneName {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// Of a deletion: returns when what it frees is free.
    #[prost(bool, tag = "2")]
    pub(crate) sync: bool,
}

/// Both to create, and what is answered.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OneImage {
    #[prost(message, optional, tag = "1")]
    pub(crate) image: Option<NamedImage>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateImage {
    #[prost(message, optional, tag = "1")]
    pub(crate) image: Option<NamedImage>,
    #[prost(message, optional, tag = "2")]
    pub(crate) mask: Option<FieldMask>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldMask {
    #[prost(string, repeated, tag = "1")]
    pub(crate) paths: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Subscribe {
    #[prost(string, repeated, tag = "1")]
    pub(crate) filters: Vec<String>,
}

/// That something happened is all that is read of an event.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Envelope {
    #[prost(string, tag = "3")]
    pub(crate) topic: String,
}
