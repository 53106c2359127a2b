//! Certificates of the user's own authority: one ConfigMap, mounted by every program that asks
//! registries.

use airside_kube_objects::{
    meta::namespaced,
    pod::{config_map_volume, read_only_mount},
};
use k8s_openapi::api::core::v1::{ConfigMap, Volume, VolumeMount};

/// File of the certificates in the containers that mount them.
pub(crate) const TRUST_FILE: &str = "/etc/airside/trust/ca.crt";

const TRUST_CONFIG_MAP: &str = "airside-images-trust";
const TRUST_DIRECTORY: &str = "/etc/airside/trust";
const TRUST_VOLUME: &str = "trust";

/// The ConfigMap with the certificates, which are PEM.
pub(crate) fn trust_config_map(namespace: &str, certificates: &str) -> ConfigMap {
    certificates_config_map(namespace, TRUST_CONFIG_MAP, "ca.crt", certificates)
}

pub(crate) fn trust_mount() -> VolumeMount {
    read_only_mount(TRUST_VOLUME, TRUST_DIRECTORY)
}

pub(crate) fn trust_volume() -> Volume {
    config_map_volume(TRUST_VOLUME, TRUST_CONFIG_MAP)
}

/// A ConfigMap with certificates as one of its files, a line each without space around it.
pub(crate) fn certificates_config_map(
    namespace: &str,
    name: &str,
    file: &str,
    certificates: &str,
) -> ConfigMap {
    let lines = certificates
        .lines()
        .map(|line| format!("{}\n", line.trim()));
    ConfigMap {
        metadata: namespaced(namespace, name),
        data: Some([(file.to_owned(), lines.collect())].into()),
        ..ConfigMap::default()
    }
}
