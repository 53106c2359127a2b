//! All that a cluster needs of the operator, as YAML for `kubectl apply`: definitions, rights, policies, the deployment.
//!
//! The agents, admission and the mirror print their own.

mod deployment;
mod policy;
mod rights;

use std::fmt::Write as _;

use airside_image_rules::{TRUST_CONFIG_MAP, is_object_name, is_plain_word};

/// What somebody decides about the operator.
#[derive(Clone, Debug)]
pub struct Installation {
    pub namespace: String,
    /// Airside's own image, as nodes find it.
    pub image: String,
    pub replicas: u32,
    /// Further options of `airside images operator`.
    pub options: Vec<String>,
    /// Certificates that registries are trusted by beside the public ones, as PEM.
    pub certificates: Option<String>,
    /// The only namespaces whose pull secrets are read; those of all if there is none.
    pub secret_namespaces: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot be written as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
    #[error("{0:?} cannot be the name of a Kubernetes namespace")]
    Namespace(String),
    #[error("{0:?} cannot be the name of an image")]
    Image(String),
    #[error("the certificates to trust are not PEM: there is no BEGIN CERTIFICATE in them")]
    Certificates,
}

/// The custom resources.
pub fn definitions() -> Result<String, InstallError> {
    let mut text = String::new();
    for definition in airside_image_rules::definitions() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&definition)?);
    }
    Ok(text)
}

impl Installation {
    /// Everything but the definitions. Nothing in it comes unchecked from elsewhere.
    pub fn manifest(&self) -> Result<String, InstallError> {
        self.check()?;
        let parts = [
            self.namespace_object(),
            rights::rights(self),
            policy::policy(&self.namespace),
            self.trust(),
            deployment::deployment(self),
        ];
        Ok(parts.concat())
    }

    fn check(&self) -> Result<(), InstallError> {
        let mut names = std::iter::once(&self.namespace).chain(&self.secret_namespaces);
        if let Some(bad) = names.find(|name| !is_object_name(name)) {
            return Err(InstallError::Namespace(bad.clone()));
        }
        if !is_plain_word(&self.image) {
            return Err(InstallError::Image(self.image.clone()));
        }
        let is_pem = |text: &String| text.contains("-----BEGIN CERTIFICATE-----");
        match self.certificates.as_ref().is_none_or(is_pem) {
            true => Ok(()),
            false => Err(InstallError::Certificates),
        }
    }

    /// Agents mount folders of their nodes, which clusters may forbid otherwise.
    fn namespace_object(&self) -> String {
        format!(
            "\
---
apiVersion: v1
kind: Namespace
metadata:
  name: {}
  labels:
    app.kubernetes.io/part-of: airside-images
    pod-security.kubernetes.io/enforce: privileged
",
            self.namespace
        )
    }

    fn trust(&self) -> String {
        let Some(certificates) = &self.certificates else {
            return String::new();
        };
        let mut text = format!(
            "\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {TRUST_CONFIG_MAP}
  namespace: {}
data:
  ca.crt: |
",
            self.namespace
        );
        for line in certificates.lines() {
            // Writing to a String does not fail.
            let _ = writeln!(text, "    {}", line.trim());
        }
        text
    }
}

#[cfg(test)]
mod tests;
