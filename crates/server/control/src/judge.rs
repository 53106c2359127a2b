//! Judging: a dry run of a pipeline's object, which passes the whole admission of the cluster and
//! leaves nothing behind. It carries facts, not the configuration.

use std::sync::Arc;

use airside_control_objects::{ClusterPipeline, PARENT_BUILD_ANNOTATION, names};
use airside_model::chain;
use airside_setting::{Judge, JudgeError, PipelineProposal, TeamControl};
use airside_store::{InstanceVars, PipelineObject};
use async_trait::async_trait;
use kube::{
    ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Map, Value, json};
use tracing::warn;

use crate::{
    Control,
    link::{MANAGER, REQUEST_TIMEOUT, RequestError, TeamLink, delete, in_time},
    set::stored_object,
};

/// Field manager of dry runs.
const JUDGE_MANAGER: &str = "airside-judge";
/// Field managers of objects that are applied for users and for builds.
const FLY_MANAGER: &str = "airside-fly";
const STEP_MANAGER: &str = "airside-step";
/// All field managers that are this server.
const OWN_MANAGERS: [&str; 4] = [MANAGER, JUDGE_MANAGER, FLY_MANAGER, STEP_MANAGER];

#[async_trait]
impl Judge for Control {
    fn control(&self, team: &str) -> Option<TeamControl> {
        let link = self.link(team)?;
        Some(TeamControl {
            cluster: link.cluster.clone(),
            namespace: link.team.namespace.clone(),
            fly: link.team.fly,
            clear_secrets: link.team.clear_secrets,
        })
    }

    async fn judge(&self, proposal: &PipelineProposal<'_>) -> Result<(), JudgeError> {
        let link = self.link_of(proposal.team)?;
        let judged = judge(&link, proposal).await;
        self.metrics().control_judged(match &judged {
            Ok(()) => "allowed",
            Err(JudgeError::Refused(_)) => "refused",
            Err(JudgeError::Unavailable { .. }) => "unavailable",
        });
        judged
    }

    async fn apply(
        &self,
        proposal: &PipelineProposal<'_>,
        config: &Value,
    ) -> Result<PipelineObject, JudgeError> {
        self.judge(proposal).await?;
        let link = self.link_of(proposal.team)?;
        let mut object = target(&link, proposal.pipeline, proposal.instance_vars).await?;
        object["spec"]["config"] = config.clone();
        let manager = match proposal.build {
            Some(build) => {
                object["metadata"]["annotations"] =
                    json!({PARENT_BUILD_ANNOTATION: build.to_string()});
                STEP_MANAGER
            }
            None => FLY_MANAGER,
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let how = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Apply(&object);
        let applied = match in_time(link.pipelines.patch(name, &how, &patch)).await {
            // What was applied for a user before may be applied for a build now.
            Err(error) if error.code() == Some(409) && !has_other_owner(&link, name).await => {
                in_time(link.pipelines.patch(name, &how.clone().force(), &patch)).await
            }
            applied => applied,
        };
        let applied = applied.map_err(|error| judge_error(&link, &error))?;
        Ok(stored_object(self.store(), &link, &applied))
    }

    async fn delete(&self, team: &str, object: &PipelineObject) -> Result<(), JudgeError> {
        let link = self.link_of(team)?;
        let live = find_live(&link, &object.name).await;
        let live = live.map_err(|error| judge_error(&link, &error))?;
        let Some(live) = live.filter(|one| one.uid().as_deref() == Some(&object.uid)) else {
            return Ok(());
        };
        let managers = live.managed_fields().iter();
        let mut others = managers
            .filter_map(|one| one.manager.as_deref())
            .filter(|manager| !is_own(manager));
        if let Some(other) = others.next() {
            return Err(JudgeError::Refused(format!(
                "{other} manages pipeline.ci.airside.dev/{} in {}; delete it there",
                object.name, object.namespace
            )));
        }
        let deleted = delete(&link.pipelines, &object.name, &object.uid, None).await;
        deleted.map_err(|error| judge_error(&link, &error))
    }
}

/// Returns true if a field manager is this server, whatever it does. Anybody may call a manager of
/// theirs `airside-something`; that one is not ours.
fn is_own(manager: &str) -> bool {
    OWN_MANAGERS.contains(&manager)
}

/// Returns the object of this name as the API server has it, with its managed fields.
pub(crate) async fn find_live(
    link: &TeamLink,
    name: &str,
) -> Result<Option<ClusterPipeline>, RequestError> {
    let named = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = in_time(link.pipelines.list(&named)).await?;
    Ok(found.items.into_iter().next())
}

/// Returns true unless this server alone has a part in the configuration of an object.
async fn has_other_owner(link: &TeamLink, name: &str) -> bool {
    let Ok(Some(live)) = find_live(link, name).await else {
        return true;
    };
    let owns_config = |fields: &Value| {
        let spec = &fields["f:spec"];
        ["f:config", "f:text"]
            .iter()
            .any(|key| spec.get(key).is_some())
    };
    live.managed_fields().iter().any(|entry| {
        let manager = entry.manager.as_deref().unwrap_or_default();
        let fields = entry.fields_v1.as_ref();
        !is_own(manager) && fields.is_some_and(|fields| owns_config(&fields.0))
    })
}

async fn judge(link: &TeamLink, proposal: &PipelineProposal<'_>) -> Result<(), JudgeError> {
    let mut object = target(link, proposal.pipeline, proposal.instance_vars).await?;
    let facts = serde_json::to_value(proposal.facts)
        .map_err(|_| JudgeError::Refused("the facts of the pipeline are not JSON".to_owned()))?;
    object["spec"]["facts"] = facts;
    object["spec"]["facts"]["through"] = json!(proposal.through);
    object["spec"]["facts"]["by"] = json!(proposal.by);
    let how = PatchParams {
        dry_run: true,
        force: true,
        field_manager: Some(JUDGE_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match in_time(link.pipelines.patch(name, &how, &Patch::Apply(&object))).await {
        Ok(_) => Ok(()),
        Err(error) => Err(judge_error(link, &error)),
    }
}

/// Returns the object that a dry run or an apply is about, without a configuration. An object that
/// is there keeps its name, and the fields that never change are as they are.
async fn target(link: &TeamLink, pipeline: &str, vars: &InstanceVars) -> Result<Value, JudgeError> {
    let ready = link.seen.pipelines.wait_until_ready();
    if tokio::time::timeout(REQUEST_TIMEOUT, ready).await.is_err() {
        return Err(unavailable(link));
    }
    let seen = link.seen.pipelines.state();
    let own = counting(seen.iter().map(|one| &**one), pipeline, vars.as_map());
    let (name, spec) = match own {
        Some(object) => (object.name_any(), own_identity(object)),
        None => {
            let name = names::pipeline_name(pipeline, vars.as_map());
            let mut spec = json!({ "pipeline": pipeline });
            if !vars.is_empty() {
                spec["instanceVars"] = vars.to_value();
            }
            (name, spec)
        }
    };
    Ok(json!({
        "apiVersion": "ci.airside.dev/v1alpha1",
        "kind": "Pipeline",
        "metadata": {"name": name, "namespace": link.team.namespace},
        "spec": spec,
    }))
}

/// The fields of an object that never change, as they are.
fn own_identity(object: &ClusterPipeline) -> Value {
    let mut spec = Map::new();
    if let Some(pipeline) = &object.spec.pipeline {
        spec.insert("pipeline".to_owned(), json!(pipeline));
    }
    if !object.spec.instance_vars.is_empty() {
        let vars = Value::Object(object.spec.instance_vars.clone());
        spec.insert("instanceVars".to_owned(), vars);
    }
    Value::Object(spec)
}

/// Returns the object that speaks for a pipeline: one that sets it before one that does not, the
/// older before the younger.
pub(crate) fn counting<'a>(
    objects: impl Iterator<Item = &'a ClusterPipeline>,
    pipeline: &str,
    vars: &Map<String, Value>,
) -> Option<&'a ClusterPipeline> {
    let wanted = names::sorted(&Value::Object(vars.clone()));
    let is_about = |object: &&ClusterPipeline| {
        object.pipeline_name() == pipeline
            && object.metadata.deletion_timestamp.is_none()
            && names::sorted(&Value::Object(object.spec.instance_vars.clone())) == wanted
    };
    objects.filter(is_about).min_by_key(|object| rank(object))
}

/// The order among objects that are about one pipeline.
pub(crate) fn rank(object: &ClusterPipeline) -> (bool, Option<i64>, String) {
    let created = object.metadata.creation_timestamp.as_ref();
    (
        !object.sets_pipeline(),
        created.map(|time| time.0.as_second()),
        object.uid().unwrap_or_default(),
    )
}

fn unavailable(link: &TeamLink) -> JudgeError {
    JudgeError::Unavailable {
        cluster: link.cluster.clone(),
    }
}

fn judge_error(link: &TeamLink, error: &RequestError) -> JudgeError {
    if error.code() == Some(409)
        && let Some(words) = error.refusal()
    {
        return JudgeError::Refused(words);
    }
    match error.refusal() {
        Some(words) => JudgeError::Refused(words),
        None => {
            warn!(cluster = link.cluster, error = %chain(error), "pipeline not judged");
            unavailable(link)
        }
    }
}

/// Returns the words of an answer that refuses a request for good. Anything else may be answered
/// otherwise later.
pub(crate) fn refusal_of(error: &kube::Error) -> Option<String> {
    let kube::Error::Api(status) = error else {
        return None;
    };
    if !(400..500).contains(&status.code) || matches!(status.code, 401 | 408 | 429) {
        return None;
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let conflicts: Vec<String> = match status.code {
        409 => causes
            .filter_map(|cause| Some(format!("{} owns {}", quoted(&cause.message)?, cause.field)))
            .collect(),
        _ => Vec::new(),
    };
    let words = if conflicts.is_empty() {
        status.message.clone()
    } else {
        conflicts.join(", ")
    };
    Some(airside_control_objects::conditions::cut_message(&words))
}

/// Returns the first text in double quotes: the manager's name in the message of a conflict.
fn quoted(message: &str) -> Option<&str> {
    message.split('"').nth(1)
}

impl Control {
    fn link_of(&self, team: &str) -> Result<Arc<TeamLink>, JudgeError> {
        self.link(team).ok_or_else(|| {
            JudgeError::Refused(format!(
                "team {team} has no namespace of a cluster any more"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use airside_model::facts::{
        AddressFacts, PipelineFacts, ResourceFacts, SetThrough, StepFacts, StepFactsKind, TypeFacts,
    };
    use kube::core::Status;

    use super::*;

    fn answer(value: Value) -> kube::Error {
        let status: Status = serde_json::from_value(value).unwrap();
        kube::Error::Api(Box::new(status))
    }

    /// Returns the fields of a value that a schema does not have: the API server would prune them.
    fn unknown_fields(at: &str, value: &Value, schema: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let path = format!("{at}.{key}");
                    match schema["properties"].get(key) {
                        Some(schema) => unknown_fields(&path, value, schema, found),
                        None => found.push(path),
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    unknown_fields(at, item, &schema["items"], found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn no_fact_is_pruned() {
        let text = "x".to_owned();
        let address = AddressFacts {
            uri: text.clone(),
            url: text.clone(),
            repository: text.clone(),
            owner: text.clone(),
            bucket: text.clone(),
            endpoint: text.clone(),
            server: text.clone(),
            namespace: text.clone(),
        };
        let step = StepFacts {
            resource: text.clone(),
            type_: text.clone(),
            privileged: Some(true),
            file: text.clone(),
            image: text.clone(),
            image_type: text.clone(),
            rootfs_uri: text.clone(),
            address: address.clone(),
            team: text.clone(),
            tags: vec![text.clone()],
            ..StepFacts::new("job", StepFactsKind::Task, "name")
        };
        let facts = PipelineFacts {
            through: Some(SetThrough::Object),
            by: text.clone(),
            steps: vec![step],
            resources: vec![ResourceFacts {
                name: text.clone(),
                type_: text.clone(),
                address: address.clone(),
                tags: vec![text.clone()],
            }],
            types: vec![TypeFacts {
                name: text.clone(),
                type_: text.clone(),
                address,
                privileged: true,
                prototype: true,
                tags: vec![text.clone()],
            }],
            pipelines: vec![text],
        };
        let [definition, ..] = airside_control_objects::definitions();
        let definition = serde_json::to_value(definition).unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let schema = &schema["properties"]["spec"]["properties"]["facts"];
        let mut found = Vec::new();
        unknown_fields("facts", &json!(facts), schema, &mut found);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a_manager_that_only_looks_like_ours_is_anothers() {
        for (manager, is_ours) in [
            ("airside", true),
            ("airside-fly", true),
            ("airside-x", false),
            ("kubectl", false),
        ] {
            assert_eq!(is_own(manager), is_ours, "{manager}");
        }
    }

    #[test]
    fn only_answers_for_good_are_refusals() {
        for (code, is_refusal) in [
            (400, true),
            (401, false),
            (403, true),
            (404, true),
            (422, true),
            (429, false),
            (500, false),
            (503, false),
        ] {
            let error = answer(json!({"status": "Failure", "code": code, "message": "no"}));
            assert_eq!(refusal_of(&error).is_some(), is_refusal, "{code}");
        }
    }

    #[test]
    fn a_conflict_names_the_owner() {
        let error = answer(json!({
            "status": "Failure", "code": 409, "reason": "Conflict", "message": "Apply failed with 1 conflict",
            "details": {"causes": [{
                "reason": "FieldManagerConflict", "field": ".spec.config",
                "message": "conflict with \"kustomize-controller\" using ci.airside.dev/v1alpha1"
            }]},
        }));
        assert_eq!(
            refusal_of(&error).unwrap(),
            "kustomize-controller owns .spec.config"
        );
    }

    #[test]
    fn the_oldest_object_that_sets_a_pipeline_counts() {
        let object = |name: &str, created: &str, config: bool| -> ClusterPipeline {
            let mut value = json!({
                "apiVersion": "ci.airside.dev/v1alpha1", "kind": "Pipeline",
                "metadata": {"name": name, "uid": name, "creationTimestamp": created},
                "spec": {"pipeline": "app"},
            });
            if config {
                value["spec"]["config"] = json!({});
            }
            serde_json::from_value(value).unwrap()
        };
        let objects = [
            object("shown", "2026-01-01T00:00:00Z", false),
            object("younger", "2026-01-03T00:00:00Z", true),
            object("older", "2026-01-02T00:00:00Z", true),
        ];
        let none = Map::new();
        let found = counting(objects.iter(), "app", &none).map(|one| one.name_any());
        assert_eq!(found.as_deref(), Some("older"));
        let found = counting(objects[..1].iter(), "app", &none).map(|one| one.name_any());
        assert_eq!(found.as_deref(), Some("shown"));
        assert!(counting(objects.iter(), "other", &none).is_none());
    }
}
