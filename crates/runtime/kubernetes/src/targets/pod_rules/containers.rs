//! Fields that a rule may set of the step's own container, and of those it adds beside it.

use super::{super::file::Fault, items, only};
use crate::{
    pod::{CONTAINER, RESERVED_MOUNTS, RESERVED_VOLUMES, SHIM_CONTAINER},
    targets::{Privileged, located::Located},
};

/// Fields of the container that the shim runs in.
const STEP: &[&str] = &["name", "resources", "securityContext", "volumeMounts"];

/// Fields of a container beside it.
const SIDECAR: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "restartPolicy",
    "securityContext",
    "startupProbe",
    "volumeMounts",
    "workingDir",
];

const MOUNT: &[&str] = &[
    "mountPath",
    "name",
    "readOnly",
    "recursiveReadOnly",
    "subPath",
    "subPathExpr",
];
const PORT: &[&str] = &["containerPort", "name", "protocol"];

const STEP_SECURITY: &[&str] = &[
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "procMount",
    "seLinuxOptions",
    "seccompProfile",
];
const SIDECAR_SECURITY: &[&str] = &[
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
];

pub(super) fn check(spec: &Located, privileged: Privileged) -> Result<(), Fault> {
    for (field, init) in [("containers", false), ("initContainers", true)] {
        let Some(list) = spec.get(field) else {
            continue;
        };
        for (index, container) in items(list, &format!("spec.{field}"))?.iter().enumerate() {
            let path = format!("spec.{field}[{index}]");
            check_container(container, &path, init, privileged)?;
        }
    }
    Ok(())
}

fn check_container(
    container: &Located,
    path: &str,
    init: bool,
    privileged: Privileged,
) -> Result<(), Fault> {
    let fault = |message: &str| Fault::at(container.at, format!("pod_rules: {path}: {message}"));
    let name = container.get("name").and_then(Located::text);
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(fault("needs a name; `step` is the step's own container"));
    };
    if name == SHIM_CONTAINER || (init && name == CONTAINER) {
        return Err(fault("this name is taken by Airside's own container"));
    }
    check_mounts(container, path)?;
    if name == CONTAINER {
        only(container, path, STEP)?;
        return match container.get("securityContext") {
            Some(context) => {
                let path = format!("{path}.securityContext");
                only(context, &path, STEP_SECURITY)?;
                check_lowers(context, &path, privileged)
            }
            None => Ok(()),
        };
    }
    only(container, path, SIDECAR)?;
    if container.get("image").is_none() {
        return Err(fault("needs an image"));
    }
    let restarts = container.get("restartPolicy").and_then(Located::text);
    match (init, restarts) {
        (true, Some("Always")) | (false, None) => {}
        (true, _) => {
            return Err(fault(
                "needs `restartPolicy: Always`: only containers that stay beside the step can be added",
            ));
        }
        (false, Some(_)) => return Err(fault("restartPolicy is for initContainers")),
    }
    check_ports(container, path)?;
    check_security(container, path, privileged)
}

fn check_mounts(container: &Located, path: &str) -> Result<(), Fault> {
    let Some(mounts) = container.get("volumeMounts") else {
        return Ok(());
    };
    let path = format!("{path}.volumeMounts");
    for (index, mount) in items(mounts, &path)?.iter().enumerate() {
        let path = format!("{path}[{index}]");
        only(mount, &path, MOUNT)?;
        let text = |field| mount.get(field).and_then(Located::text);
        if text("name").is_some_and(|name| RESERVED_VOLUMES.contains(&name)) {
            let message = format!("pod_rules: {path}: this volume is the step's own");
            return Err(Fault::at(mount.at, message));
        }
        let place = text("mountPath").unwrap_or_default();
        if place.trim_end_matches('/').is_empty()
            || RESERVED_MOUNTS.iter().any(|own| place.starts_with(own))
        {
            let message = format!("pod_rules: {path}: nothing may be mounted at {place:?}");
            return Err(Fault::at(mount.at, message));
        }
    }
    Ok(())
}

fn check_ports(container: &Located, path: &str) -> Result<(), Fault> {
    let Some(ports) = container.get("ports") else {
        return Ok(());
    };
    let path = format!("{path}.ports");
    for port in items(ports, &path)? {
        only(port, &path, PORT)?;
    }
    Ok(())
}

/// A rule that takes rights from a step is allowed in any target; one that gives some, or changes
/// how it is confined, only one that allows privileged steps.
fn check_lowers(context: &Located, path: &str, privileged: Privileged) -> Result<(), Fault> {
    if privileged != Privileged::Deny {
        return Ok(());
    }
    for (key, value) in context.entries().unwrap_or_default() {
        let said = value.value();
        let lowers = match key.name.as_str() {
            "allowPrivilegeEscalation" => said == false,
            "capabilities" => said["add"].as_array().is_none_or(Vec::is_empty),
            "seccompProfile" | "appArmorProfile" => said["type"] == "RuntimeDefault",
            _ => false,
        };
        if !lowers {
            let message = format!(
                "pod_rules: {path}: {}: a rule may only take rights from a step (allowPrivilegeEscalation: false, \
                 capabilities: {{drop: [...]}}) unless its target allows privileged steps (privileged: userns or \
                 host)",
                key.name
            );
            return Err(Fault::at(key.at, message));
        }
    }
    Ok(())
}

/// Beside a step, too, nothing is more than an ordinary container unless the target allows it.
fn check_security(container: &Located, path: &str, privileged: Privileged) -> Result<(), Fault> {
    let Some(context) = container.get("securityContext") else {
        return Ok(());
    };
    let path = format!("{path}.securityContext");
    only(context, &path, SIDECAR_SECURITY)?;
    if privileged != Privileged::Deny {
        return Ok(());
    }
    let value = context.value();
    let adds = value["capabilities"]["add"]
        .as_array()
        .is_some_and(|added| !added.is_empty());
    let unconfined = ["seccompProfile", "appArmorProfile"]
        .iter()
        .any(|profile| value[profile]["type"] == "Unconfined");
    if adds || unconfined {
        let message = format!(
            "pod_rules: {path}: capabilities and missing confinement need a target that allows \
             privileged steps (privileged: userns or host)"
        );
        return Err(Fault::at(context.at, message));
    }
    Ok(())
}
