//! The rules in their order: the first that fits decides.

use serde_json::Value;

use crate::{
    FieldTest, ObjectVerdict, conditions, generation,
    kinds::{self, KindName},
    verdict::text,
};

/// A caller's knowledge of an object, and its tests of the object's fields.
#[derive(Clone, Debug, Default)]
pub struct StatusRules {
    /// All of these hold for an object that is done. Where there are none, its kind decides.
    pub until: Vec<FieldTest>,
    /// One of these holds for an object that has failed.
    pub fail: Vec<FieldTest>,
    /// True for controllers that never say which generation they have seen.
    pub ignore_generation: bool,
    /// True if the kind has a status subresource, so that a controller should write a status.
    pub has_status: bool,
    /// The uid of the object that is meant, if it is known.
    pub uid: Option<String>,
}

/// Judges an object, as the API server returns it.
pub fn judge(object: &Value, rules: &StatusRules) -> ObjectVerdict {
    let kind = KindName::of(object);
    let first = if_gone(object, rules)
        .or_else(|| if_behind(object, &kind, rules))
        .or_else(|| by_tests(object, rules))
        .or_else(|| by_stall(object));
    let then = || kinds::judge(&kind, object);
    first
        .or_else(then)
        .or_else(|| by_succeeded(object))
        .or_else(|| by_ready(object, &kind))
        .unwrap_or_else(|| by_status(object, rules))
}

fn if_gone(object: &Value, rules: &StatusRules) -> Option<ObjectVerdict> {
    if object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|at| !at.is_null())
    {
        return Some(ObjectVerdict::failed("Deleted", "it is being deleted"));
    }
    let is_other = |uid: &String| text(object, "/metadata/uid") != uid;
    let message = "it was deleted, and another object has its name";
    let other = rules.uid.as_ref().is_some_and(is_other);
    other.then(|| ObjectVerdict::failed("Replaced", message))
}

fn if_behind(object: &Value, kind: &KindName<'_>, rules: &StatusRules) -> Option<ObjectVerdict> {
    if rules.ignore_generation {
        return None;
    }
    let tests = rules.until.iter().chain(&rules.fail);
    let words = generation::behind(object, kind.always_reports_generation(), tests)?;
    Some(ObjectVerdict::going_on(&words))
}

fn by_tests(object: &Value, rules: &StatusRules) -> Option<ObjectVerdict> {
    let generation = if rules.ignore_generation {
        i64::MIN
    } else {
        generation::of(object)
    };
    let holds = |test: &&FieldTest| test.holds(object, generation);
    if let Some(failed) = rules.fail.iter().find(holds) {
        let message = failed.message(object);
        return Some(ObjectVerdict::failed(&failed.to_string(), &message));
    }
    if rules.until.is_empty() {
        return None;
    }
    Some(match rules.until.iter().find(|test| !holds(test)) {
        None => ObjectVerdict::done("until"),
        Some(missing) => {
            let now = missing.message(object);
            let now = if now.is_empty() {
                "not reported".to_owned()
            } else {
                now
            };
            ObjectVerdict::going_on(&format!("waiting until {missing}; now: {now}"))
        }
    })
}

fn by_stall(object: &Value) -> Option<ObjectVerdict> {
    if let Some(stalled) = conditions::find(object, "Stalled").filter(|found| found.is_true()) {
        let (reason, message) = (stalled.reason_or("Stalled"), stalled.message());
        return Some(ObjectVerdict::failed(reason, message));
    }
    let reconciling = conditions::find(object, "Reconciling").filter(|found| found.is_true());
    reconciling.map(|found| ObjectVerdict::going_on(&found.words("Reconciling")))
}

fn by_succeeded(object: &Value) -> Option<ObjectVerdict> {
    let succeeded = conditions::find(object, "Succeeded")?;
    Some(match succeeded.status() {
        "True" => ObjectVerdict::done("Succeeded"),
        "False" => ObjectVerdict::failed(succeeded.reason_or("Failed"), succeeded.message()),
        _ => ObjectVerdict::going_on(&succeeded.words("Succeeded")),
    })
}

fn by_ready(object: &Value, kind: &KindName<'_>) -> Option<ObjectVerdict> {
    let ready = conditions::find(object, "Ready")?;
    Some(match ready.status() {
        "True" => ObjectVerdict::done("Ready"),
        "False" if kind.is_final_when_not_ready() => {
            ObjectVerdict::failed(ready.reason_or("NotReady"), ready.message())
        }
        _ => ObjectVerdict::going_on(&ready.words("Ready")),
    })
}

/// Objects whose kind has a status wait for one: that no controller has said anything yet is the
/// commonest way in which a wait ends too early.
fn by_status(object: &Value, rules: &StatusRules) -> ObjectVerdict {
    if rules.has_status && !has_content(object.get("status")) {
        return ObjectVerdict::Unreported;
    }
    ObjectVerdict::done("Applied")
}

/// Returns true if a status says more than that a controller has seen the object.
fn has_content(status: Option<&Value>) -> bool {
    let Some(status) = status.and_then(Value::as_object) else {
        return false;
    };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let mut said = status
        .iter()
        .filter(|(key, _)| *key != "observedGeneration");
    said.any(|(_, value)| !is_empty(value))
}
