//! The specification of a placement: complete and serialisable, so that a resumed build places the
//! same again.

use airside_model::{Handle, InstallationId, StepLabels, VolumeId, task::ContainerLimits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementSpec {
    pub handle: Handle,
    pub installation: InstallationId,
    pub labels: StepLabels,
    pub image: Image,
    pub claim: ClaimEnvironment,
    /// Inputs, outputs and caches at absolute paths inside. Runtimes that do not mount volumes
    /// themselves ignore them: there the shim's order carries them.
    pub mounts: Vec<Mount>,
    #[serde(default)]
    pub limits: ContainerLimits,
    #[serde(default)]
    pub privileged: bool,
    #[serde(default)]
    pub hermetic: bool,
    /// User of the process as `user[:group]`, by name or number; root of the container where
    /// absent. The shim switches by itself where it may; a runtime in which it may not starts it as
    /// this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Tags by which the worker was chosen; a runtime's own rules may go by them too.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The native resource type whose program, and no other, runs in the container. A name that a
    /// pipeline gives to a type of its own is never here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_type: Option<String>,
}

impl PlacementSpec {
    /// Returns a hash that tells whether an existing object was made from this spec. The claim's
    /// token is not part of it: no reader of the object should see a hash of a secret.
    pub fn hash(&self) -> String {
        let identity = serde_json::json!({
            "handle": self.handle, "installation": self.installation, "image": self.image.named(),
            "mounts": self.mounts, "limits": self.limits, "privileged": self.privileged,
            "hermetic": self.hermetic,
        });
        hex::encode(&Sha256::digest(identity.to_string().as_bytes())[..16])
    }
}

impl std::fmt::Debug for PlacementSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlacementSpec")
            .field("handle", &self.handle)
            .field("image", &self.image)
            .finish_non_exhaustive()
    }
}

/// The root file system a step runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    /// An image with nothing but the shim, for native resource types.
    Shim,
    /// The machine's own root file system under a private overlay; on Kubernetes, the image that
    /// the target names for it.
    Host,
    /// An image in a registry, as `name:tag` or `name@digest`.
    Registry {
        reference: String,
        #[serde(default, skip_serializing_if = "PullSource::is_empty")]
        source: PullSource,
        /// True if a copy on the machine is for this step only once the registry gives the image to
        /// the step's source: nothing else shows that the team may have it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ask_registry: bool,
        /// The image's own user, where the server knows it: a step without another one runs as
        /// that. Runtimes that pull by themselves read it from the image.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
    },
    /// An OCI image layout in a folder of the machine that runs the step.
    OciLayout { path: String },
    /// The folder `rootfs` of a sealed volume, as resources that fetch images leave it.
    Volume { volume: VolumeId },
}

impl Image {
    /// Returns an image that is pulled without credentials.
    pub fn registry(reference: impl Into<String>) -> Self {
        Self::Registry {
            reference: reference.into(),
            source: PullSource::default(),
            ask_registry: false,
            user: None,
        }
    }

    /// Adds the user that an image of a registry names, if it is one that a pod can carry: of at
    /// most 256 bytes, and without control characters.
    pub fn with_user(mut self, found: Option<&str>) -> Self {
        let fits = |user: &&str| {
            !user.is_empty() && user.len() <= 256 && !user.chars().any(char::is_control)
        };
        if let Self::Registry { user, .. } = &mut self {
            *user = found.filter(fits).map(str::to_owned);
        }
        self
    }

    /// The user that the image names, where the server knows it.
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::Registry { user, .. } => user.as_deref(),
            _ => None,
        }
    }

    /// Returns the image without the credentials for pulling it.
    fn named(&self) -> Self {
        match self {
            Self::Registry { reference, .. } => Self::registry(reference),
            other => other.clone(),
        }
    }
}

/// Settings for pulling an image, as the `source` of a `registry-image` has them: credentials,
/// authorities to trust, a mirror. Runtimes that leave pulling to others have no use for it. It
/// holds secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PullSource(pub Map<String, Value>);

impl PullSource {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for PullSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PullSource(..)")
    }
}

/// The address of the hub for a shim, and the shim's proof of identity.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimEnvironment {
    /// The hub's port. The host part is the runtime's: each sees the hub under an address of its
    /// own.
    pub hub_port: u16,
    pub hub_pin: String,
    pub token: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub path: String,
    pub access: MountAccess,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountAccess {
    /// A copy-on-write view of a sealed volume.
    Input { volume: VolumeId },
    /// An empty folder that becomes a volume when sealed.
    Output,
}
