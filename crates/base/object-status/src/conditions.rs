//! `status.conditions` of an object.

use serde_json::Value;

/// The number of conditions that are read. Objects have about ten.
const MAX_CONDITIONS: usize = 200;

/// One condition, as its controller wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectCondition<'a> {
    condition: &'a Value,
}

impl<'a> ObjectCondition<'a> {
    fn text(self, key: &str) -> &'a str {
        let found = self.condition.get(key).and_then(Value::as_str);
        found.unwrap_or_default()
    }

    pub(crate) fn status(self) -> &'a str {
        self.text("status")
    }

    pub(crate) fn is_true(self) -> bool {
        self.status() == "True"
    }

    pub(crate) fn is_false(self) -> bool {
        self.status() == "False"
    }

    pub(crate) fn reason(self) -> &'a str {
        self.text("reason")
    }

    /// Returns the condition's reason, or another word where it has none.
    pub(crate) fn reason_or(self, other: &'a str) -> &'a str {
        Some(self.reason())
            .filter(|reason| !reason.is_empty())
            .unwrap_or(other)
    }

    pub(crate) fn message(self) -> &'a str {
        self.text("message")
    }

    /// Returns true if the condition is about an earlier generation of the object.
    pub(crate) fn is_behind(self, generation: i64) -> bool {
        let observed = self.condition.get("observedGeneration");
        let observed = observed.and_then(Value::as_i64);
        observed.is_some_and(|observed| observed < generation)
    }

    /// Says what the condition says, for a person who waits.
    pub(crate) fn words(self, type_: &str) -> String {
        let (status, reason, message) = (self.status(), self.reason(), self.message());
        let dot = |text: &str| match text {
            "" => String::new(),
            text => format!(": {text}"),
        };
        format!("{type_} is {status}{}{}", dot(reason), dot(message))
    }
}

/// Returns the condition of a type.
pub(crate) fn find<'a>(object: &'a Value, type_: &str) -> Option<ObjectCondition<'a>> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let of_type = |condition: &&Value| {
        let found = condition.get("type").and_then(Value::as_str);
        found == Some(type_)
    };
    let found = conditions.iter().take(MAX_CONDITIONS).find(of_type);
    found.map(|condition| ObjectCondition { condition })
}
