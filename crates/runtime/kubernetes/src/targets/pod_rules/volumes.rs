//! Volumes that a rule adds: those that Pod Security calls harmless, and images.

use super::{super::file::Fault, items, only};
use crate::{pod::RESERVED_VOLUMES, targets::located::Located};

const VOLUME: &[&str] = &[
    "name",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn check(spec: &Located) -> Result<(), Fault> {
    let Some(volumes) = spec.get("volumes") else {
        return Ok(());
    };
    for (index, volume) in items(volumes, "spec.volumes")?.iter().enumerate() {
        let path = format!("spec.volumes[{index}]");
        only(volume, &path, VOLUME)?;
        let fault = |message: &str| Fault::at(volume.at, format!("pod_rules: {path}: {message}"));
        match volume.get("name").and_then(Located::text) {
            None | Some("") => return Err(fault("needs a name")),
            Some(name) if RESERVED_VOLUMES.contains(&name) => {
                return Err(fault("this name is taken by a volume of Airside's own"));
            }
            Some(_) => {}
        }
        if volume.entries().is_none_or(|entries| entries.len() != 2) {
            return Err(fault("needs a name and one kind of volume"));
        }
    }
    Ok(())
}
