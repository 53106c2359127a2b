//! Decides which changes of a set's status become events for `kubectl describe` and `kubectl get
//! events`. It is pure.

use airside_image_rules::ImageSetStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Kubernetes takes no longer note.
const MAX_NOTE_BYTES: usize = 1000;

/// Something that has happened to a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) is_warning: bool,
    pub(crate) reason: String,
    pub(crate) note: String,
}

/// Lists the events between two statuses. A condition that stays for the same reason is not an
/// event, even if its message changed.
pub(crate) fn news(old: Option<&ImageSetStatus>, new: &ImageSetStatus) -> Vec<News> {
    let before = |kind: &str| {
        let known = old.map(|old| old.conditions.as_slice()).unwrap_or_default();
        known.iter().find(|it| it.type_ == kind)
    };
    let changed =
        |now: &&Condition| before(&now.type_).is_none_or(|before| before.reason != now.reason);
    let told = new.conditions.iter().filter(changed).filter_map(|now| {
        let is_warning = match now.reason.as_str() {
            "AllPresent" => false,
            "PullError" | "RegistryError" | "Missing" | "NoPlatform" | "NoAgent" => true,
            _ => return None,
        };
        Some(News {
            is_warning,
            reason: now.reason.clone(),
            note: now.message.chars().take(MAX_NOTE_BYTES).collect(),
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(ready: (&str, &str), resolved: &str) -> ImageSetStatus {
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({"type": kind, "status": "False", "reason": reason, "message": message,
                   "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = [
            condition("Resolved", resolved, ""),
            condition("Ready", ready.0, ready.1),
        ];
        serde_json::from_value(json!({"conditions": conditions})).unwrap()
    }

    #[test]
    fn a_failed_pull_and_a_set_that_is_ready_are_told_once() {
        let pulling = status(("Pulling", "0 of 2 images are present"), "Found");
        let failed = status(
            ("PullError", "0 of 2 images are present; a on n1: 503"),
            "Found",
        );
        let still = status(
            ("PullError", "1 of 2 images are present; a on n1: 503"),
            "Found",
        );
        let ready = status(("AllPresent", "2 images on 1 node"), "Found");
        assert_eq!(news(None, &pulling), []);
        let told = news(Some(&pulling), &failed);
        let expected = News {
            is_warning: true,
            reason: "PullError".to_owned(),
            note: "0 of 2 images are present; a on n1: 503".to_owned(),
        };
        assert_eq!(told, [expected]);
        assert_eq!(news(Some(&failed), &still), []);
        let told = news(Some(&still), &ready);
        assert_eq!(
            (told.len(), told[0].is_warning, told[0].reason.as_str()),
            (1, false, "AllPresent")
        );
    }

    #[test]
    fn hostile_words_of_a_registry_make_no_endless_event() {
        let long = status(("PullError", &"x".repeat(100_000)), "RegistryError");
        let told = news(None, &long);
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|news| news.note.len() <= MAX_NOTE_BYTES));
    }
}
