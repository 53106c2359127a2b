//! Services of the image system.

use airside_kube_objects::meta::{name_labels, namespaced};
use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};

/// A Service of the pods of the same name, with one port that the pods have under the same name.
pub(crate) fn service(namespace: &str, name: &str, port_name: &str, port: u16) -> Service {
    Service {
        metadata: namespaced(namespace, name),
        spec: Some(ServiceSpec {
            selector: Some(name_labels(name)),
            ports: Some(vec![ServicePort {
                name: Some(port_name.to_owned()),
                port: i32::from(port),
                target_port: Some(IntOrString::String(port_name.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}
