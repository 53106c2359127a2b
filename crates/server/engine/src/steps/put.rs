//! `put`: pushes artifacts to a resource as a new version.

use std::collections::BTreeSet;

use airside_model::{
    StepKind,
    event::Event,
    plan::{PutInputs, PutPlan},
};
use airside_orchestrator::Artifact;
use airside_store::now;
use serde_json::Value;

use super::resource::{Call, filled, no_image, outcome, timeout};
use crate::{
    Result,
    image::NoImage,
    leaf::{Leaf, Ran},
    reference,
    status::Status,
};

const FOLDER: &str = "/tmp/build/put";

pub(crate) async fn run(leaf: Leaf<'_>, put: &PutPlan) -> Result<Status> {
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializePut {
        origin: origin.clone(),
        time,
    };
    leaf.say("initialize", event).await?;
    let (source, params) = match (
        filled(leaf, &put.source).await,
        filled(leaf, &put.params).await,
    ) {
        (Ok(source), Ok(params)) => (source, params),
        (Err(words), _) | (_, Err(words)) => return leaf.error(words).await,
    };
    let inputs = match inputs(leaf, put).await? {
        Ok(inputs) => inputs,
        Err(none) => return no_image(leaf, none).await,
    };
    let creator = leaf.interpreter.build.created_by.as_deref();
    let call = Call {
        kind: StepKind::Put,
        name: &put.name,
        type_: &put.type_,
        image: &put.image,
        tags: &put.tags,
        source,
        params,
        version: None,
        inputs,
        outputs: Vec::new(),
        start_event: Event::StartPut { origin, time },
        created_by: creator.filter(|_| put.expose_build_created_by),
    };
    let request = match call.request(leaf).await? {
        Ok(request) => request,
        Err(none) => return no_image(leaf, none).await,
    };
    let timeout = match timeout(&put.timeout) {
        Ok(timeout) => timeout,
        Err(words) => return leaf.error(words).await,
    };
    let ran = leaf.run(&request, timeout).await?;
    let status = conclude(leaf, put, &ran).await?;
    leaf.let_go(ran).await;
    Ok(status)
}

async fn conclude(leaf: Leaf<'_>, put: &PutPlan, ran: &Ran) -> Result<Status> {
    let outcome = match outcome(leaf, ran, Event::FinishPut).await? {
        Ok(outcome) => outcome,
        Err(ended) => return Ok(ended),
    };
    let (store, build) = (&leaf.interpreter.engine.parts.store, leaf.interpreter.build);
    if let (Some(pipeline), Some(version)) = (build.pipeline, &outcome.version)
        && let Some(resource) = store.resource(pipeline, &put.resource).await?
    {
        store
            .save_output(build.id, &put.name, resource.id, version, &outcome.metadata)
            .await?;
    }
    leaf.commit(outcome).await
}

/// The artifacts the put sees, each in a folder of its name.
async fn inputs(leaf: Leaf<'_>, put: &PutPlan) -> Result<Result<Vec<Artifact>, NoImage>> {
    let mut all = leaf.scope().artifacts();
    let wanted: BTreeSet<String> = match &put.inputs {
        PutInputs::All => all.keys().cloned().collect(),
        PutInputs::Named(names) => names.iter().cloned().collect(),
        PutInputs::Detect => {
            let mut named = BTreeSet::new();
            detect(&Value::Object(put.params.clone()), &mut named);
            named
                .into_iter()
                .filter(|name| all.contains_key(name))
                .collect()
        }
    };
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|name| !all.contains_key(*name))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let words = format!("missing inputs: {}", missing.join(", "));
        return Ok(Err(words.into()));
    }
    let mut inputs = Vec::new();
    for name in wanted {
        let Some(found) = all.remove(&name) else {
            continue;
        };
        let path = format!("{FOLDER}/{name}");
        match reference::whole(leaf, &name, found).await? {
            Ok(volume) => inputs.push(Artifact { volume, path }),
            Err(none) => return Ok(Err(none)),
        }
    }
    Ok(Ok(inputs))
}

/// Collects what could be artifact names in params: the first path segment of every string.
fn detect(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let segment = text
                .split('/')
                .find(|part| !matches!(*part, "" | "." | ".."));
            named.extend(segment.map(str::to_owned));
        }
        Value::Array(values) => values.iter().for_each(|value| detect(value, named)),
        Value::Object(map) => map.values().for_each(|value| detect(value, named)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_detected_anywhere_in_params() {
        let params = serde_json::json!({
            "file": "built/version", "list": ["./other/x", 1, {"deep": "third"}], "none": null,
        });
        let mut named = BTreeSet::new();
        detect(&params, &mut named);
        assert_eq!(
            named,
            BTreeSet::from(["built", "other", "third"].map(str::to_owned))
        );
    }
}
