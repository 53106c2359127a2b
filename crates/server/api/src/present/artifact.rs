//! Artifacts of builds, and uploads.

use airside_store::Artifact;
use serde_json::{Value, json};

pub(crate) fn artifact(artifact: &Artifact) -> Value {
    json!({
        "id": artifact.id,
        "name": artifact.name,
        "build_id": artifact.build.map_or(0, |id| id.0),
        "created_at": artifact.created_at.seconds(),
    })
}
