//! Volumes of pods and their mounts.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, HostPathVolumeSource, ProjectedVolumeSource,
    ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};

/// Lifetime of the tokens of [`token_volume`]; the kubelet renews them in time.
const TOKEN_SECONDS: i64 = 3600;

fn volume(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        ..Volume::default()
    }
}

/// A directory that ends with the pod.
pub fn empty_volume(name: &str) -> Volume {
    Volume {
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..volume(name)
    }
}

/// The files of a ConfigMap.
pub fn config_map_volume(name: &str, config_map: &str) -> Volume {
    Volume {
        config_map: Some(ConfigMapVolumeSource {
            name: config_map.to_owned(),
            ..ConfigMapVolumeSource::default()
        }),
        ..volume(name)
    }
}

/// A directory of the node, made if it is missing.
pub fn host_directory_volume(name: &str, path: &str) -> Volume {
    Volume {
        host_path: Some(HostPathVolumeSource {
            path: path.to_owned(),
            type_: Some("DirectoryOrCreate".to_owned()),
        }),
        ..volume(name)
    }
}

/// A token of the pod's account for one audience, as the file `token`.
pub fn token_volume(name: &str, audience: &str) -> Volume {
    let token = ServiceAccountTokenProjection {
        audience: Some(audience.to_owned()),
        expiration_seconds: Some(TOKEN_SECONDS),
        path: "token".to_owned(),
    };
    Volume {
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![VolumeProjection {
                service_account_token: Some(token),
                ..VolumeProjection::default()
            }]),
            default_mode: None,
        }),
        ..volume(name)
    }
}

/// A mount that can be written to.
pub fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    }
}

/// A mount that can only be read.
pub fn read_only_mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        read_only: Some(true),
        ..mount(name, path)
    }
}
