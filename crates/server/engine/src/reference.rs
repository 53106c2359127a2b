//! Images that a get describes and does not fetch: the runtime of a step in one pulls it by its
//! digest.
//!
//! Such a get runs as any other but leaves little: the image's own description. A task that names
//! it as its `image` needs no more where the worker pulls by itself. A step that needs the files
//! has them fetched first ([`whole`]), as a step within its own.

use std::{collections::BTreeMap, sync::Arc};

use airside_model::{
    Plan, PlanId, PlanNode, Version, VolumeId,
    event::{Event, Origin, Source},
    plan::GetPlan,
    public_plan::public_plan,
};
use airside_runtime::{Image, PullSource};
use airside_store::now;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Result, StepError, image, leaf::Leaf, scope::Artifact, steps::info_line};

/// The param that asks for a description, and the one that asks for everything.
const FORMAT: &str = "format";
const DESCRIPTION: &str = "description";
const FILES: &str = "rootfs";

/// Keys of a source that a pod can pass on to its node, or that matter to checks alone.
/// Certificates, mirrors, platforms and logins to clouds are known to the get only, so a get with
/// any of them fetches.
const KNOWN_TO_NODES: [&str; 14] = [
    "annotation_regex",
    "created_at_sort",
    "debug",
    "insecure",
    "label_regex",
    "password",
    "pre_release_prefixes",
    "pre_releases",
    "repository",
    "semver_constraint",
    "tag",
    "tag_regex",
    "username",
    "variant",
];

/// An image by its digest, and the get that would fetch it: with its variables filled in, and the
/// version that it got.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reference {
    get: GetPlan,
}

impl Reference {
    /// Returns true if the get ran in a pod. There it has read the image's documents, and the
    /// tenant has no way to say something else in its place, as on a machine of the tenant's.
    pub(crate) fn is_read_by_pod(&self, leaf: Leaf<'_>) -> bool {
        let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
        orchestrator.only_nodes_pull(&leaf.interpreter.build.team_name, &self.get.tags)
    }

    /// Returns the image that the step is placed with.
    pub(crate) fn image(&self) -> Image {
        let repository = self.get.source.get("repository");
        let repository = repository.and_then(Value::as_str).unwrap_or_default();
        let version = self.get.version.as_ref();
        let digest = version.and_then(|version| version.0.get("digest"));
        let digest = digest.map(String::as_str).unwrap_or_default();
        Image::Registry {
            reference: format!("{repository}@{digest}"),
            source: PullSource(self.get.source.clone()),
            // Without a login the image is public: the registry gave its description to this get.
            ask_registry: airside_resource_types::has_login(&self.get.source),
            user: None,
        }
    }
}

/// Artifacts that the tasks of a plan name as their images, with the tags of each such task.
#[derive(Default)]
pub(crate) struct Uses(BTreeMap<String, Vec<Vec<String>>>);

impl Uses {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut uses = Self::default();
        uses.collect(plan);
        uses
    }

    fn collect(&mut self, plan: &Plan) {
        plan.visit(&mut |node| match &node.node {
            PlanNode::Task(task) if !task.image.is_empty() => {
                let users = self.0.entry(task.image.clone()).or_default();
                users.push(task.tags.clone());
            }
            // What is still open in a template is text, so it reads as a plan.
            PlanNode::Across(across) => {
                if let Ok(template) = serde_json::from_str::<Plan>(&across.substep_template) {
                    self.collect(&template);
                }
            }
            _ => {}
        });
    }

    fn tags(&self, artifact: &str) -> &[Vec<String>] {
        self.0.get(artifact).map_or(&[], Vec::as_slice)
    }
}

/// Returns true if a description is enough for a get, by its configuration.
fn may_be_described(get: &GetPlan, source: &Map<String, Value>, version: &Version) -> bool {
    let known = |key: &String| KNOWN_TO_NODES.contains(&key.as_str());
    get.type_ == "registry-image"
        && get.image.get_plan.is_none()
        && get.params.is_empty()
        && version.0.contains_key("digest")
        && source.get("repository").is_some_and(Value::is_string)
        && source.keys().all(known)
}

/// Returns true if every task that runs in this artifact goes to a worker that pulls by itself.
/// False if no task runs in it: then no step is known to need only a reference.
fn is_pulled(leaf: Leaf<'_>, artifact: &str) -> bool {
    let Some(uses) = leaf.interpreter.uses.get() else {
        return false;
    };
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    let pulls = |tags: &Vec<String>| {
        let worker = orchestrator.worker_for(&leaf.interpreter.build.team_name, tags);
        let able = worker.and_then(|worker| orchestrator.capabilities(&worker));
        able.is_some_and(|able| able.pulls_images)
    };
    let users = uses.tags(artifact);
    !users.is_empty() && users.iter().all(pulls)
}

const SAID: &str = "described";

/// Decides whether a get is to leave a description, and if so makes its params say that. Said in
/// the log before anything is placed, so that it stays decided whatever becomes of workers and
/// servers.
pub(crate) async fn settle(
    leaf: Leaf<'_>,
    get: &GetPlan,
    source: &Map<String, Value>,
    params: &mut Map<String, Value>,
    version: &Version,
) -> Result<Option<Reference>> {
    if !may_be_described(get, source, version) {
        return Ok(None);
    }
    if !leaf.has_said(SAID) {
        if !is_pulled(leaf, &get.name)
            || leaf.interpreter.has_begun(leaf.plan, leaf.context).await?
        {
            return Ok(None);
        }
        let words = info_line("fetching no layers: the nodes that run this image pull it");
        leaf.print(SAID, Source::Stderr, &words).await?;
    }
    params.insert(FORMAT.to_owned(), DESCRIPTION.into());
    let get = GetPlan {
        source: source.clone(),
        version: Some(version.clone()),
        version_from: None,
        ..get.clone()
    };
    Ok(Some(Reference { get }))
}

/// The volume with all files of an artifact. Those of an image that was only described are fetched
/// now.
pub(crate) async fn whole(
    leaf: Leaf<'_>,
    name: &str,
    artifact: Artifact,
) -> Result<VolumeId, StepError> {
    let Some(reference) = artifact.reference else {
        return Ok(artifact.volume);
    };
    let plan = fetching(leaf.plan, name, &reference);
    let event = Event::ImageGet {
        time: now().seconds(),
        origin: Origin::step(leaf.plan),
        plan: public_plan(&plan),
    };
    leaf.say(&format!("fetch {name}"), event).await?;
    let context = leaf.context.with_scope(leaf.context.scope.inner());
    let failed = "fetching the files of an image failed";
    image::run(leaf, &plan, &context, failed).await?;
    match context.scope.artifact(&reference.get.name) {
        Some(fetched) => Ok(fetched.volume),
        None => Err("fetched artifact not found".to_owned().into()),
    }
}

/// Returns the get of all files, as a step within the one that needs them.
fn fetching(step: &PlanId, name: &str, reference: &Arc<Reference>) -> Plan {
    let mut get = reference.get.clone();
    get.params.insert(FORMAT.to_owned(), FILES.into());
    let id = PlanId::new(format!("{step}/fetch-{name}"));
    Plan::new(id, PlanNode::Get(get))
}

#[cfg(test)]
mod tests;
