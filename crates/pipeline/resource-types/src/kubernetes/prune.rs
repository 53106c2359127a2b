//! Removes what an earlier put of a group applied and this one does not have.

use std::{
    collections::{BTreeSet, HashSet},
    io::Write,
};

use airside_blocking_http::encode;
use serde_json::{Value, json};

use super::{
    abort::deletion,
    api::{ApiCall, ApiClient},
    apply::AppliedObject,
    discovery::Discovery,
    kinds::{ObjectAddress, Resource},
    manifests::Document,
    names::text,
    settings::PruneChoice,
};
use crate::{Failure, log::say};

/// Label of the objects of a group.
const LABEL: &str = "airside.dev/prune-group";
const PAGE: usize = 500;
/// Pages of one list that are read.
const MAX_PAGES: usize = 20;

/// Labels a document as one of the group.
pub(super) fn label(document: &mut Document, choice: &PruneChoice) {
    let metadata = &mut document.body["metadata"];
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    metadata["labels"][LABEL] = json!(choice.group);
}

/// Deletes what the group no longer has: of the kinds listed, in the namespaces of the put.
pub(super) fn prune(
    client: &ApiClient,
    discovery: &mut Discovery,
    choice: &PruneChoice,
    applied: &[AppliedObject],
    namespace: &str,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    let kept: HashSet<&str> = applied
        .iter()
        .map(|applied| text(&applied.object, "/metadata/uid"))
        .collect();
    let mut namespaces: BTreeSet<&str> = BTreeSet::from([namespace]);
    let namespaced = applied
        .iter()
        .filter(|applied| applied.address.resource.is_namespaced);
    namespaces.extend(namespaced.map(|applied| applied.address.namespace.as_str()));
    for kind in &choice.kinds {
        let found = discovery.find(client, kind);
        let found = found.map_err(|error| error.into_failure(&format!("look for {kind}")))?;
        let Some(resource) = found else {
            say(
                log,
                &format!("the cluster does not know {kind}; nothing of it is pruned"),
            );
            continue;
        };
        let places = if resource.is_namespaced {
            namespaces.iter().copied().collect()
        } else {
            vec![""]
        };
        for namespace in places {
            for object in list(client, &resource, namespace, &choice.group)? {
                if !kept.contains(text(&object, "/metadata/uid")) {
                    delete(client, &resource, namespace, &object, log)?;
                }
            }
        }
    }
    Ok(())
}

fn list(
    client: &ApiClient,
    resource: &Resource,
    namespace: &str,
    group: &str,
) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let labels = encode(&format!("{LABEL}={group}"), b"");
    let collection = resource.collection(namespace);
    let mut next = String::new();
    for _ in 0..MAX_PAGES {
        let path = format!("{collection}?labelSelector={labels}&limit={PAGE}{next}");
        let answer = client.call(&path, ApiCall::Get);
        let mut answer = answer
            .map_err(|error| error.into_failure(&format!("list {} to prune", resource.plural)))?;
        if let Some(Value::Array(items)) = answer.get_mut("items").map(Value::take) {
            all.extend(items);
        }
        match text(&answer, "/metadata/continue") {
            "" => break,
            token => next = format!("&continue={}", encode(token, b"")),
        }
    }
    Ok(all)
}

fn delete(
    client: &ApiClient,
    resource: &Resource,
    namespace: &str,
    object: &Value,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    let address = ObjectAddress {
        resource: resource.clone(),
        namespace: namespace.to_owned(),
        name: text(object, "/metadata/name").to_owned(),
    };
    let body = deletion(text(object, "/metadata/uid"));
    match client.call(&address.path(), ApiCall::Delete(&body)) {
        Ok(_) => say(log, &format!("pruned {address}")),
        // Another client was faster, or has put another object there.
        Err(error) if matches!(error.status(), Some(404 | 409)) => {}
        Err(error) => return Err(error.into_failure(&format!("prune {address}"))),
    }
    Ok(())
}
