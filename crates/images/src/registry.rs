//! Images from registries, brought into a [`Layout`] and used from there.

use std::{fs, time::Duration};

use oci_client::{
    Client, Reference,
    client::{ClientConfig, ClientProtocol},
    errors::{OciDistributionError, OciErrorCode},
    manifest::OciDescriptor,
    secrets::RegistryAuth,
};
use tokio::fs::File;

use crate::{
    Error,
    document::{Descriptor, Digest, Manifest},
    layout::Layout,
    mirror::Mirrors,
};

const CONNECT: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(60);

pub(crate) struct Registries {
    encrypted: Client,
    /// For registries on this machine's loopback, where nobody can listen in.
    plain: Client,
    mirrors: Mirrors,
}

/// A reference that was understood.
pub(crate) struct Image {
    text: String,
    reference: Reference,
}

impl Image {
    fn parse(text: &str) -> Result<Self, Error> {
        let reference = text.parse().map_err(|error| Error::Reference {
            reference: text.to_owned(),
            reason: format!("{error}"),
        })?;
        Ok(Self {
            text: text.to_owned(),
            reference,
        })
    }

    /// The digest it names, if it names one.
    pub(crate) fn pinned(&self) -> Option<Digest> {
        Digest::parse(self.reference.digest()?).ok()
    }

    fn is_loopback(&self) -> bool {
        let registry = self.reference.resolve_registry();
        let host = match registry.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => registry.split(':').next().unwrap_or_default(),
        };
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback())
    }

    fn explain(&self, error: OciDistributionError) -> Error {
        let what = self.text.clone();
        match &error {
            OciDistributionError::ImageManifestNotFoundError(_)
            | OciDistributionError::ServerError { code: 404, .. } => Error::Missing { what },
            OciDistributionError::RegistryError { envelope, .. }
                if envelope.errors.iter().any(|error| is_missing(&error.code)) =>
            {
                Error::Missing { what }
            }
            OciDistributionError::UnauthorizedError { .. }
            | OciDistributionError::AuthenticationFailure(_)
            | OciDistributionError::ServerError {
                code: 401 | 403, ..
            } => Error::Denied { what },
            OciDistributionError::DigestError(error) => Error::Damaged {
                what: format!("{what}: {error}"),
            },
            _ => Error::Unavailable {
                what,
                message: error.to_string(),
            },
        }
    }
}

fn is_missing(code: &OciErrorCode) -> bool {
    matches!(
        code,
        OciErrorCode::ManifestUnknown
            | OciErrorCode::NameUnknown
            | OciErrorCode::BlobUnknown
            | OciErrorCode::NotFound
    )
}

impl Registries {
    pub(crate) fn new(mirrors: Mirrors) -> Self {
        let client = |protocol| {
            Client::new(ClientConfig {
                protocol,
                connect_timeout: Some(CONNECT),
                read_timeout: Some(SILENCE),
                ..ClientConfig::default()
            })
        };
        Self {
            encrypted: client(ClientProtocol::Https),
            plain: client(ClientProtocol::Http),
            mirrors,
        }
    }

    /// What a reference means here: perhaps it comes from a mirror.
    pub(crate) fn image(&self, text: &str) -> Result<Image, Error> {
        let mut image = Image::parse(text)?;
        if let Some(place) = self.mirrors.of(image.reference.registry()) {
            image.reference.set_mirror_registry(place.to_owned());
        }
        Ok(image)
    }

    pub(crate) async fn manifest(&self, image: &Image) -> Result<(Digest, Manifest), Error> {
        let (found, digest) = self
            .client(image)
            .pull_image_manifest(&image.reference, &RegistryAuth::Anonymous)
            .await
            .map_err(|error| image.explain(error))?;
        let manifest = Manifest {
            config: descriptor(&found.config)?,
            layers: found
                .layers
                .iter()
                .map(descriptor)
                .collect::<Result<_, _>>()?,
        };
        Ok((Digest::parse(&digest)?, manifest))
    }

    /// Fetches configuration and layers. Their digests are checked when they are used.
    pub(crate) async fn download(
        &self,
        image: &Image,
        manifest: &Manifest,
        layout: &Layout,
    ) -> Result<(), Error> {
        for blob in manifest.layers.iter().chain([&manifest.config]) {
            let path = layout.blob(&blob.digest);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(Error::disk(folder))?;
            }
            let file = File::create(&path).await.map_err(Error::disk(&path))?;
            let digest = blob.digest.to_string();
            let wanted = OciDescriptor {
                digest,
                ..OciDescriptor::default()
            };
            self.client(image)
                .pull_blob(&image.reference, &wanted, file)
                .await
                .map_err(|error| image.explain(error))?;
        }
        Ok(())
    }

    fn client(&self, image: &Image) -> &Client {
        if image.is_loopback() {
            &self.plain
        } else {
            &self.encrypted
        }
    }
}

fn descriptor(found: &OciDescriptor) -> Result<Descriptor, Error> {
    Ok(Descriptor {
        media_type: found.media_type.clone(),
        digest: Digest::parse(&found.digest)?,
        platform: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_may_be_plain() {
        for (reference, plain) in [
            ("localhost:5000/a:b", true),
            ("127.0.0.1:5000/a", true),
            ("localhost.example.com/a", false),
            ("10.0.0.1:5000/a", false),
            ("busybox", false),
        ] {
            assert_eq!(
                Image::parse(reference).unwrap().is_loopback(),
                plain,
                "{reference}"
            );
        }
        assert!(matches!(
            Image::parse("UPPER CASE"),
            Err(Error::Reference { .. })
        ));
    }
}
