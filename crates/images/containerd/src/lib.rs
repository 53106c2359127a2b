//! A client of a node's container runtime, over its socket: the service that the kubelet uses
//! (CRI), and containerd's own services for names, labels and content, which CRI lacks.
//!
//! Messages are written out by hand (`messages.rs`): of these services a handful of fields is
//! needed.
//!
//! *Absent:* decisions, and the kubelet's own work: pods and containers are only listed.

mod content;
#[expect(
    unreachable_pub,
    reason = "the derive wants all fields of public messages public"
)]
mod messages;
mod rpc;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use airside_image_rules::PullLogin;

pub use self::messages::{Container, NamedImage, RuntimeImage};
pub use self::rpc::{ContainerdError, Events};
use self::{messages as wire, rpc::Rpc};

const IMAGES: &str = "/containerd.services.images.v1.Images/";

/// Cheap to clone: one connection, made when it is needed and made again when it broke.
#[derive(Clone)]
pub struct Containerd {
    rpc: Rpc,
}

impl Containerd {
    /// Opens a client. The socket must be there; a runtime that does not answer shows with the
    /// first request.
    pub fn at(socket: &Path) -> Result<Self, ContainerdError> {
        if !socket.exists() {
            return Err(ContainerdError::NoSocket(PathBuf::from(socket)));
        }
        let rpc = Rpc::to(socket)?;
        Ok(Self { rpc })
    }

    /// Returns name and version of the runtime, such as `containerd v2.1.0`.
    pub async fn version(&self) -> Result<String, ContainerdError> {
        let said: wire::Version = self
            .rpc
            .ask(
                "/runtime.v1.RuntimeService/Version",
                wire::VersionRequest::default(),
            )
            .await?;
        Ok(format!("{} {}", said.runtime_name, said.runtime_version))
    }

    /// Lists the images like the kubelet.
    pub async fn images(&self) -> Result<Vec<RuntimeImage>, ContainerdError> {
        let request = wire::ListRequest::default();
        let listed: wire::RuntimeImages = self
            .rpc
            .ask("/runtime.v1.ImageService/ListImages", request)
            .await?;
        Ok(listed.images)
    }

    /// Lists all containers, also those that have ended: the kubelet starts them again from the
    /// same image.
    pub async fn containers(&self) -> Result<Vec<Container>, ContainerdError> {
        let request = wire::ListRequest::default();
        let listed: wire::Containers = self
            .rpc
            .ask("/runtime.v1.RuntimeService/ListContainers", request)
            .await?;
        Ok(listed.containers)
    }

    /// The id of what was pulled. It takes as long as it takes: containerd reports nothing before
    /// the end.
    pub async fn pull(
        &self,
        image: &str,
        login: Option<&PullLogin>,
    ) -> Result<String, ContainerdError> {
        let request = wire::PullRequest {
            image: Some(wire::ImageSpec {
                image: image.to_owned(),
            }),
            // Without the address of a server: one that does not match exactly makes the runtime
            // send no login.
            auth: login.map(|login| wire::AuthConfig {
                username: login.username.clone(),
                password: login.password.clone(),
            }),
        };
        let pulled: wire::Pulled = self
            .rpc
            .ask_patiently("/runtime.v1.ImageService/PullImage", request)
            .await?;
        Ok(pulled.image_ref)
    }

    /// Every name that containerd has, with its labels.
    pub async fn names(&self) -> Result<Vec<NamedImage>, ContainerdError> {
        let request = wire::ListNames::default();
        let listed: wire::NamedImages = self.rpc.ask(&format!("{IMAGES}List"), request).await?;
        Ok(listed.images)
    }

    pub async fn name(&self, name: &str) -> Result<Option<NamedImage>, ContainerdError> {
        let request = wire::OneName {
            name: name.to_owned(),
            sync: false,
        };
        match self
            .rpc
            .ask::<_, wire::OneImage>(&format!("{IMAGES}Get"), request)
            .await
        {
            Ok(found) => Ok(found.image),
            Err(ContainerdError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes labels of a name: a value is set, none takes the label away.
    pub async fn label(
        &self,
        name: &str,
        changes: &[(&str, Option<String>)],
    ) -> Result<(), ContainerdError> {
        let Some(mut image) = self.name(name).await? else {
            return Err(no_such(name));
        };
        let before = image.labels.clone();
        for (key, value) in changes {
            match value {
                Some(value) => image.labels.insert((*key).to_owned(), value.clone()),
                None => image.labels.remove(*key),
            };
        }
        if image.labels == before {
            return Ok(());
        }
        self.update(image, &["labels"]).await
    }

    /// Gives what `from` names another name too, or moves that name there.
    pub async fn tag(&self, from: &str, name: &str) -> Result<(), ContainerdError> {
        let Some(image) = self.name(from).await? else {
            return Err(no_such(from));
        };
        let tagged = NamedImage {
            name: name.to_owned(),
            ..image
        };
        match self.name(name).await? {
            None => {
                let request = wire::OneImage {
                    image: Some(tagged),
                };
                let _: wire::OneImage = self.rpc.ask(&format!("{IMAGES}Create"), request).await?;
                Ok(())
            }
            Some(there) if there.target == tagged.target => Ok(()),
            Some(_) => self.update(tagged, &["target", "labels"]).await,
        }
    }

    /// The target goes along whatever is changed: containerd ends with a panic where it is missing.
    async fn update(&self, image: NamedImage, fields: &[&str]) -> Result<(), ContainerdError> {
        if image.target.is_none() {
            return Err(no_such(&image.name));
        }
        let request = wire::UpdateImage {
            image: Some(image),
            mask: Some(wire::FieldMask {
                paths: fields.iter().map(|&field| field.to_owned()).collect(),
            }),
        };
        let _: wire::OneImage = self.rpc.ask(&format!("{IMAGES}Update"), request).await?;
        Ok(())
    }

    /// Takes one name away; what no name holds any more is gone when this returns.
    pub async fn forget(&self, name: &str) -> Result<(), ContainerdError> {
        let request = wire::OneName {
            name: name.to_owned(),
            sync: true,
        };
        match self
            .rpc
            .ask::<_, ()>(&format!("{IMAGES}Delete"), request)
            .await
        {
            Ok(()) | Err(ContainerdError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns when an image or a container went or came; with an error when the runtime went away.
    pub async fn events(&self) -> Result<rpc::Events, ContainerdError> {
        let filters = ["/images/", "/containers/"].map(|topic| format!("topic~=^{topic}"));
        let request = wire::Subscribe {
            filters: filters.to_vec(),
        };
        let path = "/containerd.services.events.v1.Events/Subscribe";
        Ok(rpc::Events(self.rpc.follow(path, request).await?))
    }
}

fn no_such(name: &str) -> ContainerdError {
    ContainerdError::NotFound(format!("the container runtime has no {name}"))
}

pub type Labels = BTreeMap<String, String>;
