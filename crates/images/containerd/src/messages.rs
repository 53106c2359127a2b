//! Messages over the socket. The numbers are the protocols' own; fields that the agent does not
//! need are left out, and are skipped when they come.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct VersionRequest {
    #[prost(string, tag = "1")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Version {
    #[prost(string, tag = "2")]
    pub runtime_name: String,
    #[prost(string, tag = "3")]
    pub runtime_version: String,
}

/// Request for a list of images or containers, without a filter.
#[derive(Clone, PartialEq, Message)]
pub struct ListRequest {}

#[derive(Clone, PartialEq, Message)]
pub struct RuntimeImages {
    #[prost(message, repeated, tag = "1")]
    pub images: Vec<RuntimeImage>,
}

/// An image as the kubelet gets it.
#[derive(Clone, PartialEq, Message)]
pub struct RuntimeImage {
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, repeated, tag = "2")]
    pub tags: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub digests: Vec<String>,
    #[prost(uint64, tag = "4")]
    pub size: u64,
    #[prost(bool, tag = "8")]
    pub pinned: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct ImageSpec {
    #[prost(string, tag = "1")]
    pub image: String,
}

/// Login of a pull. It is never printed: a derived text would have the password.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct AuthConfig {
    #[prost(string, tag = "1")]
    pub username: String,
    #[prost(string, tag = "2")]
    pub password: String,
}

impl std::fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthConfig")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct PullRequest {
    #[prost(message, optional, tag = "1")]
    pub image: Option<ImageSpec>,
    #[prost(message, optional, tag = "2")]
    pub auth: Option<AuthConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Pulled {
    #[prost(string, tag = "1")]
    pub image_ref: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Containers {
    #[prost(message, repeated, tag = "1")]
    pub containers: Vec<Container>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Container {
    #[prost(message, optional, tag = "4")]
    pub image: Option<ImageSpec>,
    #[prost(string, tag = "5")]
    pub image_ref: String,
    #[prost(string, tag = "10")]
    pub image_id: String,
}

/// A name of containerd's: one image has several, the id among them.
#[derive(Clone, PartialEq, Message)]
pub struct NamedImage {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(btree_map = "string, string", tag = "2")]
    pub labels: super::Labels,
    #[prost(message, optional, tag = "3")]
    pub target: Option<Descriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Descriptor {
    #[prost(string, tag = "1")]
    pub media_type: String,
    #[prost(string, tag = "2")]
    pub digest: String,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(btree_map = "string, string", tag = "5")]
    pub annotations: super::Labels,
}

#[derive(Clone, PartialEq, Message)]
pub struct ListNames {
    #[prost(string, repeated, tag = "1")]
    pub filters: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NamedImages {
    #[prost(message, repeated, tag = "1")]
    pub images: Vec<NamedImage>,
}

/// A request to get or to delete by name.
#[derive(Clone, PartialEq, Message)]
pub struct OneName {
    #[prost(string, tag = "1")]
    pub name: String,
    /// True if a deletion returns only when its content is removed too.
    #[prost(bool, tag = "2")]
    pub sync: bool,
}

/// Both to create, and what is answered.
#[derive(Clone, PartialEq, Message)]
pub struct OneImage {
    #[prost(message, optional, tag = "1")]
    pub image: Option<NamedImage>,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpdateImage {
    #[prost(message, optional, tag = "1")]
    pub image: Option<NamedImage>,
    #[prost(message, optional, tag = "2")]
    pub mask: Option<FieldMask>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMask {
    #[prost(string, repeated, tag = "1")]
    pub paths: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Subscribe {
    #[prost(string, repeated, tag = "1")]
    pub filters: Vec<String>,
}

/// An event, of which nothing is read but that it happened.
#[derive(Clone, PartialEq, Message)]
pub struct Envelope {
    #[prost(string, tag = "3")]
    pub topic: String,
}
