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

use super::resource::{Call, filled, outcome, timeout};
use crate::{
    Result, StepError,
    leaf::{Leaf, Ran},
    reference,
    status::Status,
};

const FOLDER: &str = "/tmp/build/put";

pub(crate) async fn run(leaf: Leaf<'_>, put: &PutPlan) -> Result<Status, StepError> {
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializePut {
        origin: origin.clone(),
        time,
    };
    leaf.say("initialize", event).await?;
    let source = filled(leaf, &put.source).await?;
    let params = filled(leaf, &put.params).await?;
    let inputs = inputs(leaf, put).await?;
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
    let request = call.request(leaf).await?;
    let timeout = timeout(&put.timeout)?;
    let ran = leaf.run_process(&request, timeout).await?;
    let status = leaf.conclude(conclude(leaf, put, &ran).await).await?;
    leaf.let_go(ran).await;
    Ok(status)
}

async fn conclude(leaf: Leaf<'_>, put: &PutPlan, ran: &Ran) -> Result<Status, StepError> {
    let outcome = outcome(leaf, ran, Event::FinishPut).await?;
    let (store, build) = (&leaf.interpreter.engine.parts.store, leaf.interpreter.build);
    if let (Some(pipeline), Some(version)) = (build.pipeline, &outcome.version)
        && let Some(resource) = store.resource(pipeline, &put.resource).await?
    {
        store
            .save_output(build.id, &put.name, resource.id, version, &outcome.metadata)
            .await?;
    }
    Ok(leaf.commit(outcome).await?)
}

/// The artifacts the put sees, each in a folder of its name.
async fn inputs(leaf: Leaf<'_>, put: &PutPlan) -> Result<Vec<Artifact>, StepError> {
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
        return Err(format!("missing inputs: {}", missing.join(", ")).into());
    }
    let mut inputs = Vec::new();
    for name in wanted {
        let Some(found) = all.remove(&name) else {
            continue;
        };
        let path = format!("{FOLDER}/{name}");
        let volume = reference::whole(leaf, &name, found).await?;
        inputs.push(Artifact { volume, path });
    }
    Ok(inputs)
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
