//! Names of objects that have `generateName`.
//!
//! The name is chosen here and not by the API server, so that a request whose answer was lost can
//! be repeated: an object that is there already is the one that it made.

use std::hash::{BuildHasher, Hasher, RandomState};

use airside_object_status::printable;
use serde_json::{Value, json};

/// The signs of generated names, as the API server chooses them: no vowels, so no words.
const SIGNS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Number of random signs. The API server's five would meet another object's too often.
const RANDOM_SIGNS: usize = 8;
/// Longest name: many names become values of labels.
const MAX_NAME: usize = 63;

/// Returns what a document's name shall begin with, if the document leaves the rest open.
pub(super) fn generated_from(document: &Value) -> Option<&str> {
    let metadata = document.get("metadata")?;
    if metadata.get("name").is_some_and(|name| !name.is_null()) {
        return None;
    }
    let prefix = metadata.get("generateName")?.as_str()?;
    (!prefix.is_empty()).then_some(prefix)
}

/// Gives a document a name of its own.
pub(super) fn generate(prefix: &str, document: &mut Value) -> String {
    let end = (0..=prefix.len().min(MAX_NAME - RANDOM_SIGNS)).rev();
    let end = end.into_iter().find(|end| prefix.is_char_boundary(*end));
    let mut random = RandomState::new().build_hasher().finish();
    let mut name = prefix[..end.unwrap_or_default()].to_owned();
    for _ in 0..RANDOM_SIGNS {
        let signs = SIGNS.len() as u64;
        name.push(char::from(SIGNS[(random % signs) as usize]));
        random /= signs;
    }
    document["metadata"]["name"] = json!(name);
    name
}

/// Returns a text of an object for people.
pub(super) fn shown(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str);
    printable(found.unwrap_or_default())
}

/// Returns a text of an object, or an empty one.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_generated_within_the_limit() {
        let mut document = json!({"metadata": {"generateName": "build-"}});
        assert_eq!(generated_from(&document), Some("build-"));
        let name = generate("build-", &mut document);
        assert_eq!(name.len(), 14);
        assert_eq!(generated_from(&document), None);
        assert_ne!(generate("build-", &mut document), name);
        assert_eq!(generate(&"é".repeat(100), &mut document).len(), 62);
        assert_eq!(
            generated_from(&json!({"metadata": {"name": "a", "generateName": "b"}})),
            None
        );
    }
}
