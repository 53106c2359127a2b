//! The rules of volumes, services, namespaces and definitions.

use serde_json::Value;

use crate::{ObjectVerdict, conditions, verdict::text};

pub(super) fn volume_claim(claim: &Value) -> ObjectVerdict {
    match text(claim, "/status/phase") {
        "Bound" => ObjectVerdict::done("Bound"),
        "Lost" => ObjectVerdict::failed("Lost", "its volume is gone"),
        _ => ObjectVerdict::going_on("the claim is not bound to a volume"),
    }
}

pub(super) fn service(service: &Value) -> ObjectVerdict {
    if text(service, "/spec/type") != "LoadBalancer" {
        return ObjectVerdict::done("Applied");
    }
    let addresses = service.pointer("/status/loadBalancer/ingress");
    let addresses = addresses.and_then(Value::as_array);
    if addresses.is_some_and(|addresses| !addresses.is_empty()) {
        ObjectVerdict::done("Addressed")
    } else {
        ObjectVerdict::going_on("the load balancer has no address yet")
    }
}

pub(super) fn namespace(namespace: &Value) -> ObjectVerdict {
    match text(namespace, "/status/phase") {
        "Active" => ObjectVerdict::done("Active"),
        _ => ObjectVerdict::going_on("the namespace is not active yet"),
    }
}

pub(super) fn definition(definition: &Value) -> ObjectVerdict {
    let names = conditions::find(definition, "NamesAccepted").filter(|found| found.is_false());
    if let Some(refused) = names {
        return ObjectVerdict::failed(refused.reason_or("NamesRefused"), refused.message());
    }
    match conditions::find(definition, "Established") {
        Some(found) if found.is_true() => ObjectVerdict::done("Established"),
        _ => ObjectVerdict::going_on("the definition is not established yet"),
    }
}

pub(super) fn api_service(service: &Value) -> ObjectVerdict {
    match conditions::find(service, "Available") {
        Some(found) if found.is_true() => ObjectVerdict::done("Available"),
        Some(found) => ObjectVerdict::going_on(&found.words("Available")),
        None => ObjectVerdict::going_on("the API service is not available yet"),
    }
}
