//! Pieces that the pods of Airside's own programs share.

mod volumes;

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Capabilities, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, ObjectFieldSelector,
        PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile,
        SecurityContext, TCPSocketAction,
    },
    apimachinery::pkg::{
        api::resource::Quantity, apis::meta::v1::ObjectMeta, util::intstr::IntOrString,
    },
};

pub use volumes::{
    config_map_volume, empty_volume, host_directory_volume, mount, read_only_mount, token_volume,
};

/// User and group that Airside's programs have in their images.
pub const UNPRIVILEGED_USER: i64 = 65532;

/// A template of pods that have the name label of their program.
pub fn template(name: &str, spec: PodSpec) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(crate::meta::name_labels(name)),
            ..ObjectMeta::default()
        }),
        spec: Some(spec),
    }
}

/// Security context of a pod whose programs are not root.
pub fn unprivileged_pod() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        ..pod_of_user(UNPRIVILEGED_USER)
    }
}

/// Security context of a pod that runs as one user, under the runtime's own seccomp profile.
pub fn pod_of_user(user: i64) -> PodSecurityContext {
    PodSecurityContext {
        run_as_user: Some(user),
        run_as_group: Some(user),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

/// Security context of a container without capabilities and with a read-only root.
pub fn locked_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        ..SecurityContext::default()
    }
}

/// Requests of CPU and memory, and the limit of memory. CPU has no limit: it would only be wasted.
pub fn resources(cpu: &str, memory: &str, memory_limit: &str) -> ResourceRequirements {
    let quantities = |pairs: &[(&str, &str)]| -> BTreeMap<String, Quantity> {
        let pair = |&(name, amount): &(&str, &str)| (name.to_owned(), Quantity(amount.to_owned()));
        pairs.iter().map(pair).collect()
    };
    ResourceRequirements {
        requests: Some(quantities(&[("cpu", cpu), ("memory", memory)])),
        limits: Some(quantities(&[("memory", memory_limit)])),
        ..ResourceRequirements::default()
    }
}

/// A probe by HTTP of a named port.
pub fn http_probe(path: &str, port: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(port.to_owned()),
            ..HTTPGetAction::default()
        }),
        ..Probe::default()
    }
}

/// A probe by HTTPS of a named port; the kubelet does not check the certificate.
pub fn https_probe(path: &str, port: &str) -> Probe {
    let mut probe = http_probe(path, port);
    if let Some(get) = &mut probe.http_get {
        get.scheme = Some("HTTPS".to_owned());
    }
    probe
}

/// A probe that only connects.
pub fn tcp_probe(port: u16) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction {
            port: IntOrString::Int(i32::from(port)),
            host: None,
        }),
        ..Probe::default()
    }
}

/// A port of the pod's address.
pub fn port(name: &str, number: u16) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: i32::from(number),
        ..ContainerPort::default()
    }
}

/// A port that the node's loopback has too.
pub fn loopback_port(name: &str, number: u16) -> ContainerPort {
    ContainerPort {
        host_port: Some(i32::from(number)),
        host_ip: Some("127.0.0.1".to_owned()),
        ..port(name, number)
    }
}

/// An environment variable that has the value of a field of the pod.
pub fn env_of_field(name: &str, field: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: field.to_owned(),
                api_version: None,
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    }
}
