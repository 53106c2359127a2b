//! The Secret that material is kept in: read, created, updated, by its name alone.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Client, api::PostParams};

use crate::{BadMaterial, Material};

#[derive(Debug, thiserror::Error)]
#[error("the secret {namespace}/{name} cannot be {what}")]
pub struct SecretError {
    namespace: String,
    name: String,
    what: &'static str,
    source: Box<kube::Error>,
}

pub(crate) struct CertsSecret {
    secrets: Api<Secret>,
    namespace: String,
    name: String,
}

/// A Secret as it was read, with the version that a replacement must name.
pub(crate) struct FoundSecret {
    pub(crate) material: Result<Material, BadMaterial>,
    secret: Secret,
}

/// Result of a write. A conflict means that another replica was faster: the Secret is read again.
pub(crate) enum SecretWrite {
    Done,
    Late,
}

impl CertsSecret {
    pub(crate) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            secrets: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) async fn read(&self) -> Result<Option<FoundSecret>, SecretError> {
        let found = self.secrets.get_opt(&self.name).await;
        let found = found.map_err(|source| self.failed("read", source))?;
        Ok(found.map(|secret| {
            let data: BTreeMap<String, Vec<u8>> = secret
                .data
                .iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.0.clone()))
                .collect();
            FoundSecret {
                material: Material::read(&data),
                secret,
            }
        }))
    }

    pub(crate) async fn write(
        &self,
        before: Option<FoundSecret>,
        material: &Material,
    ) -> Result<SecretWrite, SecretError> {
        let data = material.data().into_iter();
        let data = data.map(|(key, value)| (key, ByteString(value))).collect();
        let written = match before {
            // Its resource version is in it: an update of something newer is refused.
            Some(found) => {
                let secret = Secret {
                    data: Some(data),
                    ..found.secret
                };
                let post = PostParams::default();
                self.secrets.replace(&self.name, &post, &secret).await
            }
            None => {
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(self.name.clone()),
                        ..ObjectMeta::default()
                    },
                    data: Some(data),
                    ..Secret::default()
                };
                self.secrets.create(&PostParams::default(), &secret).await
            }
        };
        match written {
            Ok(_) => Ok(SecretWrite::Done),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                Ok(SecretWrite::Late)
            }
            Err(source) => Err(self.failed("written", source)),
        }
    }

    fn failed(&self, what: &'static str, source: kube::Error) -> SecretError {
        SecretError {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            what,
            source: Box::new(source),
        }
    }
}
