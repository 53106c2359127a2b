//! Keys that a map has twice. The reader takes the last of them, as Concourse does; callers that
//! warn about the others find them here.

use std::collections::HashMap;

use crate::construct::Constructor;
use crate::document::{Document, Kind};
use crate::{Error, Key, Span};

/// A key that its map had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    pub key: Key,
    /// Span of the key's first use.
    pub first: Span,
}

/// The keys that occur again in the same map of the first document, in the order of the text.
pub fn duplicate_keys(text: &str) -> Result<Vec<DuplicateKey>, Error> {
    let document = Document::compose(text)?;
    let mut constructor = Constructor::new(&document);
    let mut found = Vec::new();
    for written in document.nodes() {
        let Kind::Map(entries) = &written.kind else {
            continue;
        };
        let mut first: HashMap<String, Span> = HashMap::new();
        for (key, _) in entries {
            if constructor.is_merge(*key) {
                continue;
            }
            let key = constructor.key(*key, 0)?;
            match first.get(&key.text) {
                Some(first) => found.push(DuplicateKey { key, first: *first }),
                None => drop(first.insert(key.text, key.span)),
            }
        }
    }
    found.sort_by_key(|duplicate| duplicate.key.span.start);
    Ok(found)
}
