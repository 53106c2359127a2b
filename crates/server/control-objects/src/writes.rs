//! Decides whether an object is worth a write.

use serde::Serialize;
use serde_json::Value;

/// Returns true if the desired value says something else than what was written last, however the
/// fields are ordered and whether an empty field is there.
pub fn differs<T: Serialize>(desired: &T, written: &T) -> bool {
    let value = |one: &T| serde_json::to_value(one).map(without_empty).ok();
    match (value(desired), value(written)) {
        (Some(desired), Some(written)) => desired != written,
        // A value that cannot be compared is written, and the API server says what is wrong.
        _ => true,
    }
}

/// Removes nulls and empty collections, which API servers prune or leave out.
fn without_empty(value: Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn order_and_emptiness_are_no_difference() {
        let written = json!({"a": 1, "b": {"c": null}, "d": []});
        for (desired, expected) in [
            (json!({"a": 1}), false),
            (json!({"d": [], "a": 1}), false),
            (json!({"a": 2}), true),
            (json!({"a": 1, "d": [1]}), true),
            (json!({}), true),
        ] {
            assert_eq!(differs(&desired, &written), expected, "{desired}");
        }
    }
}
