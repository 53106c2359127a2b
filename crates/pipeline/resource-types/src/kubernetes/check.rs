//! `check`: finished objects, by one request.

use std::io::Write;

use airside_blocking_http::encode;
use airside_model::Version;
use airside_object_status::{ObjectVerdict, judge};
use serde_json::Value;

use super::{
    access::ClusterAccess,
    api::{ApiCall, ApiClient, ApiError},
    discovery::Discovery,
    kinds::{ObjectAddress, Resource},
    names::text,
    settings::{ObjectChoice, Source},
    version::version_of,
};
use crate::{CheckInput, Failure, log::say};

/// Objects that one check reads.
const MAX_OBJECTS: usize = 500;

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let source = Source::read(request.source)?;
    let query = match &source.choice {
        ObjectChoice::Any => {
            say(
                log,
                "there is neither a name nor a selector; only puts make versions",
            );
            return Ok(request.version.into_iter().collect());
        }
        ObjectChoice::Named(name) => CheckQuery::Object(name.clone()),
        ObjectChoice::Selected(labels) => CheckQuery::Objects(labels.clone()),
    };
    let access = ClusterAccess::new(&source.credentials)?;
    let namespace = source.namespace.as_ref().or(access.namespace.as_ref());
    let mut reader = ObjectReader {
        namespace: namespace.map_or_else(|| "default".to_owned(), Clone::clone),
        client: ApiClient::new(&access)?,
        resource: source.kind.guess(true),
        is_discovered: false,
    };
    let objects = reader.read(&query, log)?;
    let mut found = Vec::new();
    for object in &objects {
        if let Some(version) = reader.version(&source, object, log)? {
            found.push((done_at(object), version));
        }
    }
    found.sort();
    let found = found.into_iter().map(|(_, version)| version).collect();
    Ok(since(found, request.version.as_ref()))
}

/// Returns the versions from a given one on, or the last one if none was given.
fn since(mut found: Vec<Version>, given: Option<&Version>) -> Vec<Version> {
    let Some(given) = given else {
        return found.pop().into_iter().collect();
    };
    let at = found.iter().position(|version| version == given);
    found.split_off(at.unwrap_or_default())
}

/// The objects that a check asks the API server for.
pub(super) enum CheckQuery {
    Object(String),
    Objects(String),
}

/// Reads objects, at first by the path that their kind most likely has: one request suffices then.
pub(super) struct ObjectReader {
    pub(super) client: ApiClient,
    pub(super) namespace: String,
    pub(super) resource: Resource,
    pub(super) is_discovered: bool,
}

impl ObjectReader {
    pub(super) fn read(
        &mut self,
        query: &CheckQuery,
        log: &mut dyn Write,
    ) -> Result<Vec<Value>, Failure> {
        match self.request(query) {
            Ok(answer) => Ok(self.items(answer, query, log)),
            Err(ApiError::Refused(refusal)) if refusal.is_missing_object() => Ok(Vec::new()),
            Err(ApiError::Refused(refusal)) if refusal.status == 404 && !self.is_discovered => {
                self.discover()?;
                self.read(query, log)
            }
            Err(error) => Err(error.into_failure(&format!("read {}", self.resource.plural))),
        }
    }

    fn request(&self, query: &CheckQuery) -> Result<Value, ApiError> {
        let path = match query {
            CheckQuery::Object(name) => self.address(name).path(),
            CheckQuery::Objects(labels) => {
                let collection = self.resource.collection(&self.namespace);
                let labels = encode(labels, b"");
                format!("{collection}?labelSelector={labels}&limit={MAX_OBJECTS}")
            }
        };
        self.client.call(&path, ApiCall::Get)
    }

    pub(super) fn address(&self, name: &str) -> ObjectAddress {
        ObjectAddress {
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }

    /// Returns the objects of an answer, each with its kind, which lists leave out.
    fn items(&self, mut answer: Value, query: &CheckQuery, log: &mut dyn Write) -> Vec<Value> {
        if matches!(query, CheckQuery::Object(_)) {
            return vec![answer];
        }
        if !text(&answer, "/metadata/continue").is_empty() {
            let words = format!("only the first {MAX_OBJECTS} objects are read; select fewer");
            say(log, &words);
        }
        let items = answer.get_mut("items").map(Value::take);
        let Some(Value::Array(mut items)) = items else {
            return Vec::new();
        };
        let kind = &self.resource.kind;
        for item in items.iter_mut().filter(|item| item.is_object()) {
            item["apiVersion"] = kind.api_version().into();
            item["kind"] = kind.kind.clone().into();
        }
        items
    }

    /// Asks the API server how it serves the kind.
    fn discover(&mut self) -> Result<(), Failure> {
        let kind = self.resource.kind.clone();
        let found = Discovery::default().find(&self.client, &kind);
        let found = found.map_err(|error| error.into_failure(&format!("look for {kind}")))?;
        self.resource = found.ok_or_else(|| {
            Failure::source(
                "kind",
                format!("is {kind}, which the cluster does not know"),
            )
        })?;
        self.is_discovered = true;
        Ok(())
    }

    /// Returns the version of an object if it is done.
    pub(super) fn version(
        &mut self,
        source: &Source,
        object: &Value,
        log: &mut dyn Write,
    ) -> Result<Option<Version>, Failure> {
        let mut verdict = judge(object, &source.tests.rules(self.resource.has_status));
        if verdict == ObjectVerdict::Unreported && !self.is_discovered {
            // It was assumed that the kind has a status.
            self.discover()?;
            verdict = judge(object, &source.tests.rules(self.resource.has_status));
        }
        let address = self.address(text(object, "/metadata/name"));
        let ObjectVerdict::Done { reason } = &verdict else {
            say(log, &format!("{address}: {verdict}"));
            return Ok(None);
        };
        match version_of(source, object, reason) {
            Ok(version) => Ok(Some(version)),
            Err(path) => {
                say(log, &format!("{address}: it is done, and has no {path}"));
                Ok(None)
            }
        }
    }
}

/// Returns the moment at which an object became done, as far as it says so.
fn done_at(object: &Value) -> String {
    let completed = text(object, "/status/completionTime");
    if !completed.is_empty() {
        return completed.to_owned();
    }
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let times = conditions.into_iter().flatten().filter(|condition| {
        let type_ = text(condition, "/type");
        matches!(
            type_,
            "Ready" | "Succeeded" | "Complete" | "Available" | "Established"
        )
    });
    let last = times
        .map(|condition| text(condition, "/lastTransitionTime"))
        .max();
    let created = text(object, "/metadata/creationTimestamp");
    last.unwrap_or_default().max(created).to_owned()
}
