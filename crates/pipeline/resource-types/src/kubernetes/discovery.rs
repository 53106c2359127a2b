//! The kinds that the API server serves: one request for each group and version.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    api::{ApiCall, ApiClient, ApiError},
    kinds::{ObjectKind, Resource},
    names::text,
};

/// The lists that were read, by the path of the group.
#[derive(Default)]
pub(super) struct Discovery {
    lists: HashMap<String, Vec<Value>>,
}

impl Discovery {
    /// Returns how the API server serves a kind, if it does.
    pub(super) fn find(
        &mut self,
        client: &ApiClient,
        kind: &ObjectKind,
    ) -> Result<Option<Resource>, ApiError> {
        let base = kind.base();
        if !self.lists.contains_key(&base) {
            let list = match client.call(&base, ApiCall::Get) {
                Ok(mut list) => match list.get_mut("resources").map(Value::take) {
                    Some(Value::Array(resources)) => resources,
                    _ => Vec::new(),
                },
                // A definition may bring the group in a moment: this is not remembered.
                Err(error) if error.status() == Some(404) => return Ok(None),
                Err(error) => return Err(error),
            };
            self.lists.insert(base.clone(), list);
        }
        let list = self.lists.get(&base).map(Vec::as_slice);
        let found = resource(kind, list.unwrap_or_default());
        if found.is_none() {
            self.lists.remove(&base);
        }
        Ok(found)
    }
}

fn resource(kind: &ObjectKind, list: &[Value]) -> Option<Resource> {
    let is_it =
        |entry: &&Value| text(entry, "/kind") == kind.kind && !text(entry, "/name").contains('/');
    let entry = list.iter().find(is_it)?;
    let plural = text(entry, "/name").to_owned();
    let status = format!("{plural}/status");
    Some(Resource {
        kind: kind.clone(),
        is_namespaced: entry.get("namespaced") == Some(&Value::Bool(true)),
        has_status: list.iter().any(|entry| text(entry, "/name") == status),
        plural,
    })
}
