//! A copy of what a watch says.

use std::{collections::BTreeMap, mem};

use kube::{Resource, runtime::watcher::Event};

/// A part of each watched object, by namespace and name.
pub(crate) struct ObjectCache<V> {
    all: BTreeMap<Key, V>,
    /// Objects of a list that is not complete yet.
    coming: BTreeMap<Key, V>,
    is_whole: bool,
}

/// Namespace (empty if it has none) and name.
pub(crate) type Key = (String, String);

impl<V> Default for ObjectCache<V> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            coming: BTreeMap::new(),
            is_whole: false,
        }
    }
}

impl<V: PartialEq> ObjectCache<V> {
    /// Applies an event of the watch, and returns true if the objects changed.
    pub(crate) fn take<K: Resource>(&mut self, event: Event<K>, keep: impl Fn(K) -> V) -> bool {
        match event {
            Event::Init => {
                self.coming.clear();
                false
            }
            Event::InitApply(object) => {
                self.coming.insert(key(&object), keep(object));
                false
            }
            Event::InitDone => {
                let was_whole = mem::replace(&mut self.is_whole, true);
                let coming = mem::take(&mut self.coming);
                let is_other = coming != self.all;
                self.all = coming;
                is_other || !was_whole
            }
            Event::Apply(object) => {
                let key = key(&object);
                let value = keep(object);
                let is_other = self.all.get(&key) != Some(&value);
                self.all.insert(key, value);
                is_other
            }
            Event::Delete(object) => self.all.remove(&key(&object)).is_some(),
        }
    }

    /// Returns true if a whole list was received.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.all.values()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &V)> {
        self.all.iter()
    }
}

pub(crate) fn key<K: Resource>(object: &K) -> Key {
    let meta = object.meta();
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}
