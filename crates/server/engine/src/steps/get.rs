//! `get`: fetches a version of a resource as an artifact, unless it was fetched before.

use airside_model::{
    MetadataField, StepKind, Version,
    event::{Event, FinishResource},
    plan::GetPlan,
};
use airside_orchestrator::StepOutput;
use airside_store::{CacheOwner, ResourceCache, now};
use serde_json::{Map, Value};

use super::{
    get_cache::{self, Key},
    resource::{Call, filled, outcome, timeout},
};
use crate::{
    Result, StepError,
    leaf::Leaf,
    outcome::Outcome,
    reference::{self, Reference},
    scope::LocalVar,
    status::Status,
};

const FOLDER: &str = "/tmp/build/get";

pub(crate) async fn run(leaf: Leaf<'_>, get: &GetPlan) -> Result<Status, StepError> {
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializeGet {
        origin: origin.clone(),
        time,
    };
    leaf.say("initialize", event).await?;
    let source = filled(leaf, &get.source).await?;
    let mut params = filled(leaf, &get.params).await?;
    let from = get.version_from.as_ref();
    let found = from.and_then(|plan| leaf.interpreter.version(plan));
    let Some(version) = get.version.clone().or(found) else {
        return Err("the version to get is not known".to_owned().into());
    };
    let reference = reference::settle(leaf, get, &source, &mut params, &version).await?;
    let call = Call {
        kind: StepKind::Get,
        name: &get.name,
        type_: &get.type_,
        image: &get.image,
        tags: &get.tags,
        source,
        params,
        version: Some(version.clone()),
        inputs: Vec::new(),
        outputs: vec![StepOutput {
            name: get.name.clone(),
            path: FOLDER.to_owned(),
        }],
        start_event: Event::StartGet { origin, time },
        created_by: None,
    };
    let request = call.request(leaf).await?;
    let timeout = timeout(&get.timeout)?;
    let key = Key::of(leaf, &request);
    let owner = CacheOwner {
        resource: &get.resource,
        version: &version,
    };
    let mut turn = None;
    // What an earlier server began is followed to its end.
    if let Some(key) = &key
        && !leaf.interpreter.has_begun(leaf.plan, leaf.context).await?
    {
        turn = Some(get_cache::turn(leaf, key, timeout).await?);
        if let Some(found) = get_cache::find(leaf, key, owner).await? {
            drop(turn);
            leaf.end_image_get(request.image_get).await?;
            let outcome = cached(leaf, get, version, found, request.start_event).await?;
            return Ok(commit(leaf, get, reference, outcome).await?);
        }
    }
    let ran = leaf.run_process(&request, timeout).await?;
    let fetched = async {
        let outcome = outcome(leaf, &ran, Event::FinishGet).await?;
        if outcome.status != Status::Succeeded {
            return Ok(leaf.commit(outcome).await?);
        }
        if let (Some(key), Some(worker)) = (&key, ran.worker()) {
            get_cache::keep(leaf, key, worker, &outcome, owner).await?;
        }
        Ok(commit(leaf, get, reference, outcome).await?)
    };
    let status = leaf.conclude(fetched.await).await?;
    drop(turn);
    leaf.let_go(ran).await;
    Ok(status)
}

/// Returns the outcome of a get that had nothing to fetch.
async fn cached(
    leaf: Leaf<'_>,
    get: &GetPlan,
    version: Version,
    found: ResourceCache,
    start_event: Event,
) -> Result<Outcome> {
    leaf.say("start", start_event).await?;
    get_cache::announce(leaf, &version).await?;
    let finish = FinishResource {
        origin: leaf.origin(),
        time: now().seconds(),
        exit_status: 0,
        version: version.clone(),
        metadata: found.metadata.clone(),
    };
    leaf.say("finish", Event::FinishGet(finish)).await?;
    Ok(Outcome {
        version: Some(version),
        metadata: found.metadata,
        artifacts: [(get.name.clone(), found.volume)].into(),
        ..Outcome::of(Status::Succeeded)
    })
}

async fn commit(
    leaf: Leaf<'_>,
    get: &GetPlan,
    reference: Option<Reference>,
    mut outcome: Outcome,
) -> Result<Status> {
    let var = metadata_var(&outcome.metadata);
    outcome.hidden.vars.insert(get.name.clone(), var);
    let described = reference.map(|reference| (get.name.clone(), reference));
    outcome.hidden.references.extend(described);
    note_metadata(leaf, get, &outcome).await?;
    leaf.commit(outcome).await
}

/// The version's page shows what it is made of.
async fn note_metadata(leaf: Leaf<'_>, get: &GetPlan, outcome: &Outcome) -> Result<()> {
    let (store, build) = (&leaf.interpreter.engine.parts.store, leaf.interpreter.build);
    let (Some(pipeline), Some(version)) = (build.pipeline, &outcome.version) else {
        return Ok(());
    };
    if get.resource.is_empty() || outcome.metadata.is_empty() {
        return Ok(());
    }
    if let Some(resource) = store.resource(pipeline, &get.resource).await? {
        let metadata = &outcome.metadata;
        store.save_metadata(resource.id, version, metadata).await?;
    }
    Ok(())
}

/// Later steps know what a version is made of as `((.:name.field))`.
fn metadata_var(metadata: &[MetadataField]) -> LocalVar {
    let fields = metadata
        .iter()
        .map(|field| (field.name.clone(), Value::String(field.value.clone())));
    LocalVar {
        value: Value::Object(fields.collect::<Map<_, _>>()),
        secret: false,
    }
}
