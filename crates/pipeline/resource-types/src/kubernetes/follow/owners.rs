//! The objects that belong to the one that is followed, by their owner references.

use std::collections::HashMap;

use serde_json::Value;

use super::super::{
    api::{ApiCall, ApiClient},
    kinds::{ObjectAddress, ObjectKind},
    names::text,
};

/// Levels of owners between a pod and the object.
const MAX_LEVELS: u32 = 3;
/// Objects that are remembered.
const MAX_KNOWN: usize = 2000;

/// The objects of the namespace that are known to belong to the followed one, or not to.
pub(super) struct Owners {
    namespace: String,
    known: HashMap<String, bool>,
}

impl Owners {
    pub(super) fn new(uid: &str, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            known: HashMap::from([(uid.to_owned(), true)]),
        }
    }

    /// Returns true if the uid is the object's, or of something that belongs to it.
    pub(super) fn has(&self, uid: &str) -> bool {
        self.known.get(uid) == Some(&true)
    }

    /// Notes a pod that belongs to the object, and its owners with it.
    pub(super) fn add(&mut self, pod: &Value) -> bool {
        self.note(text(pod, "/metadata/uid"), true);
        for owner in owners(pod) {
            self.note(text(owner, "/uid"), true);
        }
        true
    }

    fn note(&mut self, uid: &str, is_ours: bool) {
        if self.known.len() < MAX_KNOWN && !uid.is_empty() {
            self.known.insert(uid.to_owned(), is_ours);
        }
    }

    /// Returns true if the owners of a pod lead to the object.
    pub(super) fn lead_here(&mut self, client: &ApiClient, pod: &Value) -> bool {
        self.lead_within(client, pod, MAX_LEVELS)
    }

    fn lead_within(&mut self, client: &ApiClient, object: &Value, levels: u32) -> bool {
        let uid = text(object, "/metadata/uid");
        if let Some(known) = self.known.get(uid) {
            return *known;
        }
        let mut is_ours = false;
        for owner in owners(object) {
            let of_owner = self.known.get(text(owner, "/uid")).copied();
            is_ours |= match of_owner {
                Some(known) => known,
                None if levels > 1 && self.known.len() < MAX_KNOWN => {
                    let found = self.read(client, owner);
                    found.is_some_and(|found| self.lead_within(client, &found, levels - 1))
                }
                None => false,
            };
        }
        self.note(uid, is_ours);
        is_ours
    }

    fn read(&self, client: &ApiClient, owner: &Value) -> Option<Value> {
        let kind = ObjectKind::of_object(owner)?;
        let address = ObjectAddress {
            resource: kind.guess(true),
            namespace: self.namespace.clone(),
            name: text(owner, "/name").to_owned(),
        };
        client.call(&address.path(), ApiCall::Get).ok()
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let references = object.pointer("/metadata/ownerReferences");
    let references = references.and_then(Value::as_array);
    references.into_iter().flatten().take(10)
}
