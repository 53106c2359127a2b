//! One review: a request of the API server and its answer, bytes in, bytes out.
//!
//! An object is parsed only as far as placement uses it, and the patch is the difference that
//! placement made. So fields that this version does not know stay as they are. No pod is ever
//! refused: one that cannot be placed is let through.

mod message;

use airside_image_rules::placement::{KnownImages, place, place_ephemeral};
use airside_model::chain;
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::{CronJob, Job},
    core::v1::Pod,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use self::message::{Question, Request, ReviewAnswer};
use crate::{
    View,
    rewrite::Rewrite,
    template::{Templated, place_object},
};

#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("this is not an AdmissionReview")]
    NotAReview(#[source] serde_json::Error),
    #[error("the object cannot be read as a {kind}")]
    Object {
        kind: String,
        source: serde_json::Error,
    },
    #[error("the answer cannot be written")]
    Answer(#[source] serde_json::Error),
}

/// Changes of names beside placement.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub rewrite: Option<Rewrite>,
}

/// Answers a review in the body of a request.
pub fn answer(body: &[u8], view: &View, rules: &Rules) -> Result<Vec<u8>, ReviewError> {
    let question: Question<'_> = serde_json::from_slice(body).map_err(ReviewError::NotAReview)?;
    let request = &question.request;
    let patch = match patch(request, view, rules) {
        Ok(patch) => patch,
        Err(error) => {
            tracing::warn!(
                error = %chain(&error),
                namespace = request.namespace,
                name = request.name,
                "object not placed; it is admitted as it is"
            );
            None
        }
    };
    serde_json::to_vec(&ReviewAnswer::new(&question, patch)).map_err(ReviewError::Answer)
}

fn patch(
    request: &Request<'_>,
    view: &View,
    rules: &Rules,
) -> Result<Option<Vec<u8>>, ReviewError> {
    let known = view.of(&request.namespace);
    let kind = request.kind.kind.as_ref();
    let is_new = request.operation == "CREATE";
    match (kind, request.sub_resource.as_deref().unwrap_or_default()) {
        // Nothing would come of it: not even read.
        ("Pod", _) if known.is_empty() && rules.rewrite.is_none() => Ok(None),
        ("Pod", "") if is_new => changed(request, |pod: &mut Pod, _| {
            let is_moved = rules
                .rewrite
                .as_ref()
                .map(|rewrite| rewrite.pod(pod, known));
            is_moved.unwrap_or(false) | place(pod, known)
        }),
        ("Pod", "ephemeralcontainers") => changed(request, |pod: &mut Pod, old| {
            place_ephemeral(pod, old, known)
        }),
        ("Deployment", "") => templated::<Deployment>(request, known),
        ("StatefulSet", "") => templated::<StatefulSet>(request, known),
        ("CronJob", "") => templated::<CronJob>(request, known),
        // Its template cannot be changed later.
        ("Job", "") if is_new => templated::<Job>(request, known),
        _ => Ok(None),
    }
}

fn templated<K: Templated>(
    request: &Request<'_>,
    known: &KnownImages,
) -> Result<Option<Vec<u8>>, ReviewError> {
    changed(request, |object: &mut K, old| {
        place_object(object, old, known)
    })
}

/// The difference that a change makes, as a JSON patch.
fn changed<T: Clone + Serialize + DeserializeOwned>(
    request: &Request<'_>,
    change: impl FnOnce(&mut T, Option<&T>) -> bool,
) -> Result<Option<Vec<u8>>, ReviewError> {
    let bad = |source| ReviewError::Object {
        kind: request.kind.kind.clone().into_owned(),
        source,
    };
    let read = |raw: &RawValue| serde_json::from_str::<T>(raw.get()).map_err(bad);
    let Some(raw) = request.object else {
        return Ok(None);
    };
    let mut object = read(raw)?;
    let old = request.old_object.map(read).transpose()?;
    let before = object.clone();
    if !change(&mut object, old.as_ref()) {
        return Ok(None);
    }
    // Most objects stay as they are, and come no further.
    let before = serde_json::to_value(&before).map_err(bad)?;
    let after = serde_json::to_value(&object).map_err(bad)?;
    let patch = json_patch::diff(&before, &after);
    serde_json::to_vec(&patch).map(Some).map_err(bad)
}

#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;
