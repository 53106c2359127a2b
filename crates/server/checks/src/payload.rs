//! Reads from a webhook's payload what changed. The payload is not trusted: a caller with the token
//! may send anything. It can only spare a check that would find nothing; a payload that is not
//! understood spares none.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Maximum number of changes that are read; no push has more.
const MAX_CHANGES: usize = 1000;

/// The refs that a push changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Changed {
    branches: BTreeSet<String>,
    tags: BTreeSet<String>,
}

/// Returns why a resource need not be checked for this payload; none if it must be.
pub(crate) fn spares(type_: &str, source: &Map<String, Value>, payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    match type_ {
        "git" => spares_git(source, &payload),
        "registry-image" => spares_image(source, &payload),
        _ => None,
    }
}

/// Returns the parts of a source that are compared with payloads.
pub(crate) fn compared(source: &Map<String, Value>) -> Map<String, Value> {
    let keys = ["branch", "tag_filter", "tag_regex", "tag"];
    let pairs = source
        .iter()
        .filter(|(key, _)| keys.contains(&key.as_str()));
    pairs
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn spares_git(source: &Map<String, Value>, payload: &Value) -> Option<String> {
    // Without a branch it follows the remote's own, whose name is not known here.
    let branch = source.get("branch")?.as_str()?;
    let follows_tags = ["tag_filter", "tag_regex"]
        .iter()
        .any(|key| source.contains_key(*key));
    let changed = pushed(payload)?;
    if changed.branches.contains(branch) || (follows_tags && !changed.tags.is_empty()) {
        return None;
    }
    let names = changed.branches.iter().chain(&changed.tags);
    let names: Vec<&str> = names.map(String::as_str).collect();
    Some(format!(
        "{} was pushed, and the resource follows {branch}",
        names.join(", ")
    ))
}

/// Returns the refs of a push, as GitHub, GitLab, Gitea and similar servers send them, or
/// Bitbucket.
fn pushed(payload: &Value) -> Option<Changed> {
    let mut changed = Changed::default();
    if let Some(name) = payload.get("ref").and_then(Value::as_str) {
        let kind = payload.get("ref_type").and_then(Value::as_str);
        changed.add(name, kind)?;
        return Some(changed);
    }
    let changes = payload.get("push")?.get("changes")?.as_array()?;
    if changes.is_empty() || changes.len() > MAX_CHANGES {
        return None;
    }
    for change in changes {
        // A ref that was deleted has no new state, one that was created no old one.
        let mut sides = ["new", "old"].iter().filter_map(|side| change.get(*side));
        let state = sides.find(|state| state.is_object())?;
        let kind = state.get("type")?.as_str()?;
        changed.add(state.get("name")?.as_str()?, Some(kind))?;
    }
    Some(changed)
}

impl Changed {
    /// Adds a ref. None if its kind is not known.
    fn add(&mut self, name: &str, kind: Option<&str>) -> Option<()> {
        let (set, name) = match (
            name.strip_prefix("refs/heads/"),
            name.strip_prefix("refs/tags/"),
        ) {
            (Some(branch), _) => (&mut self.branches, branch),
            (_, Some(tag)) => (&mut self.tags, tag),
            _ if kind == Some("branch") => (&mut self.branches, name),
            _ if kind == Some("tag") => (&mut self.tags, name),
            _ => return None,
        };
        set.insert(name.to_owned());
        Some(())
    }
}

/// Returns why a push to a registry, as Docker Hub sends it, does not concern the image's tag.
fn spares_image(source: &Map<String, Value>, payload: &Value) -> Option<String> {
    let wanted = source.get("tag")?.as_str()?;
    let pushed = payload.get("push_data")?.get("tag")?.as_str()?;
    (pushed != wanted).then(|| format!("{pushed} was pushed, and the resource follows {wanted}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_spared(type_: &str, source: Value, payload: &str) -> bool {
        spares(type_, source.as_object().unwrap(), payload.as_bytes()).is_some()
    }

    #[test]
    fn only_a_push_to_something_else_spares_a_check() {
        let bitbucket = |name: &str, kind: &str| {
            json!({"push": {"changes": [{"old": null, "new": {"type": kind, "name": name}}]}})
                .to_string()
        };
        let deleted =
            json!({"push": {"changes": [{"new": null, "old": {"type": "branch", "name": "x"}}]}});
        let main = || json!({"branch": "main"});
        for (source, payload, spared) in [
            (main(), r#"{"ref": "refs/heads/main"}"#.to_owned(), false),
            (main(), r#"{"ref": "refs/heads/other"}"#.to_owned(), true),
            (main(), r#"{"ref": "refs/heads/main/sub"}"#.to_owned(), true),
            (
                main(),
                r#"{"ref": "other", "ref_type": "branch"}"#.to_owned(),
                true,
            ),
            (main(), r#"{"ref": "other"}"#.to_owned(), false),
            (main(), r#"{"ref": "refs/tags/v1"}"#.to_owned(), true),
            (main(), r#"{"ref": 7}"#.to_owned(), false),
            (main(), bitbucket("main", "branch"), false),
            (main(), bitbucket("other", "branch"), true),
            (main(), bitbucket("v1", "tag"), true),
            (main(), bitbucket("v1", "bookmark"), false),
            (main(), deleted.to_string(), true),
            (main(), r#"{"push": {"changes": []}}"#.to_owned(), false),
            (main(), r#"{"push": {"changes": [7]}}"#.to_owned(), false),
            (main(), String::new(), false),
            (main(), "payload=%7B%7D".to_owned(), false),
            (main(), "[]".to_owned(), false),
            (
                json!({}),
                r#"{"ref": "refs/heads/other"}"#.to_owned(),
                false,
            ),
            (
                json!({"branch": "main", "tag_filter": "v*"}),
                r#"{"ref": "refs/tags/v1"}"#.to_owned(),
                false,
            ),
            (
                json!({"branch": "main", "tag_filter": "v*"}),
                r#"{"ref": "refs/heads/x"}"#.to_owned(),
                true,
            ),
        ] {
            assert_eq!(
                is_spared("git", source.clone(), &payload),
                spared,
                "{source} {payload}"
            );
            assert!(!is_spared("mock", source, &payload), "{payload}");
        }
    }

    #[test]
    fn images_are_told_apart_by_their_tag() {
        let payload = r#"{"push_data": {"tag": "1.2"}, "repository": {"repo_name": "a/b"}}"#;
        for (source, spared) in [
            (json!({"tag": "1.2"}), false),
            (json!({"tag": "latest"}), true),
            (json!({}), false),
        ] {
            assert_eq!(
                is_spared("registry-image", source.clone(), payload),
                spared,
                "{source}"
            );
        }
    }
}
