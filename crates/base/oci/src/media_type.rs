//! Media types of images, as registries and Docker write them.

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const OCI_LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
pub const DOCKER_LAYER_GZIP: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
pub const DOCKER_LAYER_ZSTD: &str = "application/vnd.docker.image.rootfs.diff.tar.zstd";

/// Value of `Accept` that names all manifests and indexes.
pub const ACCEPT_MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.docker.distribution.manifest.v2+json";

/// Value of `Accept` that prefers manifests and indexes, and takes anything.
pub const ACCEPT_MANIFESTS_OR_ANY: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, */*;q=0.1";

/// Returns true for the media type of an image's manifest.
pub fn is_manifest(media_type: &str) -> bool {
    [OCI_MANIFEST, DOCKER_MANIFEST].contains(&media_type)
}

/// Returns true for the media type of an index.
pub fn is_index(media_type: &str) -> bool {
    [OCI_INDEX, DOCKER_INDEX].contains(&media_type)
}

/// Returns a `Content-Type` without its parameters.
pub fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_documents() {
        for kind in [OCI_MANIFEST, DOCKER_MANIFEST, OCI_INDEX, DOCKER_INDEX] {
            assert!(ACCEPT_MANIFESTS.contains(kind), "{kind}");
            assert!(ACCEPT_MANIFESTS_OR_ANY.contains(kind), "{kind}");
            assert_ne!(is_manifest(kind), is_index(kind), "{kind}");
            assert_eq!(essence(&format!(" {kind} ; charset=utf-8")), kind);
        }
        for other in ["", "text/plain", OCI_CONFIG, OCI_LAYER_ZSTD] {
            assert!(!is_manifest(other) && !is_index(other), "{other}");
        }
    }
}
