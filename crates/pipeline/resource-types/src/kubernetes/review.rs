//! Asks before anything is changed whether all of it is allowed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    api::{ApiCall, ApiClient, ApiError},
    kinds::{ObjectAddress, Resource},
    names::shown,
};
use crate::Failure;

/// Largest number of rights that are asked for; a put of more objects finds out by trying.
const MAX_REVIEWS: usize = 60;
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// One right, of all objects of a kind in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    group: String,
    resource: String,
    namespace: String,
    verb: &'static str,
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " in {}", self.namespace)?;
        }
        Ok(())
    }
}

/// The rights that a put needs, each with the names of the objects.
#[derive(Default)]
pub(super) struct NeededRights {
    rights: BTreeSet<(Right, String)>,
}

impl NeededRights {
    pub(super) fn add(
        &mut self,
        verbs: &[&'static str],
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) {
        for verb in verbs.iter().copied() {
            let namespace = if resource.is_namespaced {
                namespace
            } else {
                ""
            };
            let right = Right {
                group: resource.kind.group.clone(),
                resource: resource.plural.clone(),
                namespace: namespace.to_owned(),
                verb,
            };
            self.rights.insert((right, name.to_owned()));
        }
    }

    pub(super) fn add_address(&mut self, verbs: &[&'static str], address: &ObjectAddress) {
        self.add(verbs, &address.resource, &address.namespace, &address.name);
    }

    /// Asks for each right; says which ones are missing.
    pub(super) fn review(&self, client: &ApiClient) -> Result<(), Failure> {
        let mut missing = Vec::new();
        let mut allowed: Option<&Right> = None;
        for (right, name) in self.rights.iter().take(MAX_REVIEWS) {
            // The objects of one kind stand beside each other: what holds for all holds for each.
            if allowed == Some(right) {
                continue;
            }
            if ask(client, right, "")? {
                allowed = Some(right);
            } else if name.is_empty() || !ask(client, right, name)? {
                missing.push(match name.as_str() {
                    "" => right.to_string(),
                    name => format!("{right} (or {name} alone)"),
                });
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let user = user(client);
        let lines: Vec<String> = missing
            .iter()
            .map(|right| format!("missing right of {user}: {right}"))
            .collect();
        Err(Failure::said(lines.join("\n")))
    }
}

fn ask(client: &ApiClient, right: &Right, name: &str) -> Result<bool, Failure> {
    let mut attributes = json!({
        "verb": right.verb, "group": right.group, "resource": right.resource,
        "namespace": right.namespace,
    });
    if !name.is_empty() {
        attributes["name"] = json!(name);
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    match client.call(REVIEWS, ApiCall::Review(&review)) {
        Ok(answer) => Ok(answer.pointer("/status/allowed") == Some(&Value::Bool(true))),
        // An API server that answers no reviews says by the requests themselves what is allowed.
        Err(ApiError::Refused(refusal)) if matches!(refusal.status, 403 | 404) => Ok(true),
        Err(error) => Err(error.into_failure("ask the API server for rights")),
    }
}

/// Returns who the API server takes us for.
fn user(client: &ApiClient) -> String {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = client.call(path, ApiCall::Review(&review));
    let name = answer.map(|answer| shown(&answer, "/status/userInfo/username"));
    name.ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "this user".to_owned())
}
