//! The meaning of requests: what an API server does with objects.

use serde_json::{Value, json};

use super::{API, KubeRequest, Mood, NAMESPACE, World};

/// The code and the body of an answer.
pub(super) type KubeAnswer = (u16, Value);

fn refusal(code: u16, reason: &str, message: &str, causes: Value) -> KubeAnswer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message, "details": {"causes": causes},
    });
    (code, body)
}

fn not_found(name: &str) -> KubeAnswer {
    refusal(404, "NotFound", &format!("{name:?} not found"), json!([]))
}

fn kind(plural: &str) -> &'static str {
    match plural {
        "pipelines" => "Pipeline",
        "pipelinejobs" => "PipelineJob",
        "pipelinebuilds" => "PipelineBuild",
        other => panic!("no such kind: {other}"),
    }
}

impl World {
    pub(super) fn set_mood(&mut self, mood: Mood) {
        self.mood = mood;
        if matches!(mood, Mood::NamespaceGoing | Mood::DefinitionsGone) {
            let all: Vec<_> = self.objects.keys().cloned().collect();
            for (plural, name) in all {
                self.remove(&plural, &name);
            }
        }
    }

    pub(super) fn list(&self, plural: &str) -> Vec<Value> {
        let of_kind = self.objects.iter().filter(|((one, _), _)| one == plural);
        of_kind.map(|(_, object)| object.clone()).collect()
    }

    pub(super) fn answer(&mut self, request: &KubeRequest) -> KubeAnswer {
        if request.path.ends_with("/selfsubjectaccessreviews") {
            return (201, json!({"status": {"allowed": true}}));
        }
        let (plural, name, sub) = request.place();
        if plural == "events" {
            return (201, request.body.clone());
        }
        if self.mood == Mood::DefinitionsGone {
            return not_found(plural);
        }
        let (body, dry) = (&request.body, request.is_dry_run());
        let answered = match request.method.as_str() {
            "GET" => Ok(self.answer_list(request, plural)),
            "POST" => self.create(plural, body.clone(), dry),
            "PATCH" if request.is_apply => self.apply(request, plural, name),
            "PATCH" => self.merge(plural, name, body, sub == "status"),
            "DELETE" => self.delete(plural, name, body),
            other => panic!("no such method: {other}"),
        };
        answered.map_or_else(|refusal| refusal, |object| (200, object))
    }

    fn answer_list(&self, request: &KubeRequest, plural: &str) -> Value {
        let mut items = self.list(plural);
        if let Some(name) = request
            .query("fieldSelector")
            .strip_prefix("metadata.name=")
        {
            items.retain(|one| one["metadata"]["name"] == name);
        }
        json!({
            "apiVersion": API, "kind": format!("{}List", kind(plural)),
            "metadata": {"resourceVersion": self.version.to_string()}, "items": items,
        })
    }

    pub(super) fn create(
        &mut self,
        plural: &str,
        mut object: Value,
        dry: bool,
    ) -> Result<Value, KubeAnswer> {
        if self.mood == Mood::NamespaceGoing {
            let cause = json!([{"reason": "NamespaceTerminating", "message": "m", "field": ""}]);
            return Err(refusal(
                403,
                "Forbidden",
                "the namespace is being terminated",
                cause,
            ));
        }
        self.judge(&object)?;
        self.names += 1;
        let meta = &mut object["metadata"];
        if let Some(prefix) = meta["generateName"].as_str() {
            meta["name"] = json!(format!("{prefix}{:05}", self.names));
        }
        let name = meta["name"].as_str().unwrap().to_owned();
        if self
            .objects
            .contains_key(&(plural.to_owned(), name.clone()))
        {
            return Err(refusal(
                409,
                "AlreadyExists",
                "it is there already",
                json!([]),
            ));
        }
        meta["namespace"] = json!(NAMESPACE);
        meta["uid"] = json!(format!("uid-{:06}", self.names));
        meta["generation"] = json!(1);
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = json!(
                jiff::Timestamp::now()
                    .strftime("%Y-%m-%dT%H:%M:%SZ")
                    .to_string()
            );
        }
        if let Some(creator) = self.creator.as_ref().filter(|_| plural == "pipelinebuilds") {
            meta["annotations"]["ci.airside.dev/creator"] = json!(creator);
        }
        object["apiVersion"] = json!(API);
        object["kind"] = json!(kind(plural));
        object.as_object_mut().unwrap().remove("status");
        if dry {
            return Ok(object);
        }
        Ok(self.store(plural, &name, "ADDED", object))
    }

    fn store(&mut self, plural: &str, name: &str, type_: &'static str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let key = (plural.to_owned(), name.to_owned());
        self.objects.insert(key, object.clone());
        self.changes
            .push((self.version, plural.to_owned(), type_, object.clone()));
        object
    }

    /// A policy of the cluster, which reads facts, and a webhook that refuses everything.
    fn judge(&self, object: &Value) -> Result<(), KubeAnswer> {
        if let Some(words) = &self.webhook {
            return Err(refusal(400, "BadRequest", words, json!([])));
        }
        let steps = object["spec"]["facts"]["steps"].as_array();
        let mut steps = steps.into_iter().flatten();
        if self.refuses_privileged && steps.any(|step| step["privileged"] == true) {
            let words = "admission denied: tasks may not be privileged here";
            return Err(refusal(422, "Invalid", words, json!([])));
        }
        Ok(())
    }

    /// Server-side apply of a spec; the fields of a spec have one owner each.
    fn apply(
        &mut self,
        request: &KubeRequest,
        plural: &str,
        name: &str,
    ) -> Result<Value, KubeAnswer> {
        let (manager, applied) = (request.query("fieldManager"), &request.body);
        let key = (plural.to_owned(), name.to_owned());
        let Some(mut object) = self.objects.get(&key).cloned() else {
            let mut object = applied.clone();
            object["metadata"]["managedFields"] = json!([managed(manager, applied)]);
            return self.create(plural, object, request.is_dry_run());
        };
        self.judge(applied)?;
        let before = object["spec"].clone();
        let others = object["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut kept = Vec::new();
        for mut other in others.into_iter().filter(|one| one["manager"] != manager) {
            for (field, value) in applied["spec"].as_object().unwrap() {
                let owned = format!("f:{field}");
                if other["fieldsV1"]["f:spec"].get(&owned).is_none() || before[field] == *value {
                    continue;
                }
                if request.query("force") != "true" {
                    let owner = other["manager"].as_str().unwrap();
                    let cause = json!([{
                        "reason": "FieldManagerConflict", "field": format!(".spec.{field}"),
                        "message": format!("conflict with {owner:?} using {API}"),
                    }]);
                    return Err(refusal(
                        409,
                        "Conflict",
                        "Apply failed with 1 conflict",
                        cause,
                    ));
                }
                other["fieldsV1"]["f:spec"]
                    .as_object_mut()
                    .unwrap()
                    .remove(&owned);
            }
            kept.push(other);
        }
        kept.push(managed(manager, applied));
        for (field, value) in applied["spec"].as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        if request.is_dry_run() {
            return Ok(object);
        }
        object["metadata"]["managedFields"] = json!(kept);
        Ok(self.change(plural, name, &before, object))
    }

    /// Stores a changed object; another spec is another generation.
    fn change(&mut self, plural: &str, name: &str, before: &Value, mut object: Value) -> Value {
        if object["spec"] != *before {
            let generation = object["metadata"]["generation"].as_i64().unwrap();
            object["metadata"]["generation"] = json!(generation + 1);
        }
        self.store(plural, name, "MODIFIED", object)
    }

    /// A merge patch, of the status alone or of the rest.
    pub(super) fn merge(
        &mut self,
        plural: &str,
        name: &str,
        patch: &Value,
        status: bool,
    ) -> Result<Value, KubeAnswer> {
        let key = (plural.to_owned(), name.to_owned());
        let Some(mut object) = self.objects.get(&key).cloned() else {
            return Err(not_found(name));
        };
        check_uid(&object, &patch["metadata"]["uid"])?;
        let before = object["spec"].clone();
        let part = if status { "status" } else { "spec" };
        merge_value(&mut object[part], &patch[part]);
        Ok(self.change(plural, name, &before, object))
    }

    /// Writes a status as a person with every right does.
    pub(crate) fn forge(&mut self, plural: &str, name: &str, status: &Value) {
        let forged = self.merge(plural, name, status, true);
        assert!(forged.is_ok(), "{forged:?}");
    }

    /// Gives the fields of a pipeline's object to another manager.
    pub(crate) fn give(&mut self, name: &str, manager: &str) {
        let key = ("pipelines".to_owned(), name.to_owned());
        let object = self.objects.get_mut(&key).unwrap();
        object["metadata"]["managedFields"][0]["manager"] = json!(manager);
    }

    fn delete(&mut self, plural: &str, name: &str, options: &Value) -> Result<Value, KubeAnswer> {
        let key = (plural.to_owned(), name.to_owned());
        let Some(object) = self.objects.get(&key) else {
            return Err(not_found(name));
        };
        let wanted = &options["preconditions"];
        check_uid(object, &wanted["uid"])?;
        let version = &wanted["resourceVersion"];
        if !version.is_null() && *version != object["metadata"]["resourceVersion"] {
            return Err(refusal(409, "Conflict", "it changed", json!([])));
        }
        self.remove(plural, name);
        Ok(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    }

    pub(super) fn remove(&mut self, plural: &str, name: &str) {
        let key = (plural.to_owned(), name.to_owned());
        if let Some(mut object) = self.objects.remove(&key) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            let change = (self.version, plural.to_owned(), "DELETED", object);
            self.changes.push(change);
        }
    }
}

fn managed(manager: &str, applied: &Value) -> Value {
    let fields = applied["spec"].as_object().unwrap().keys();
    let fields: serde_json::Map<_, _> = fields.map(|key| (format!("f:{key}"), json!({}))).collect();
    json!({"manager": manager, "operation": "Apply", "apiVersion": API, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}})
}

fn check_uid(object: &Value, wanted: &Value) -> Result<(), KubeAnswer> {
    if wanted.is_null() || *wanted == object["metadata"]["uid"] {
        return Ok(());
    }
    Err(refusal(409, "Conflict", "it is another object", json!([])))
}

/// Merges as RFC 7386 says.
fn merge_value(value: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, field) in fields {
        if field.is_null() {
            value.as_object_mut().unwrap().remove(key);
        } else {
            merge_value(&mut value[key], field);
        }
    }
}
