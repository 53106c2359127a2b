//! Instance vars as they ride in a query: a whole object in `vars`, and single values in
//! `vars.path.to.it`, each of them JSON.

use airside_store::InstanceVars;
use serde_json::{Map, Value};

use crate::error::{ApiError, Result};

/// Longer paths and more vars than anybody means seriously are refused.
const DEEPEST: usize = 32;

/// The vars that the pairs of a query hold; none if no pair is about them.
pub(crate) fn from_pairs(pairs: &[(String, String)]) -> Result<InstanceVars> {
    let mut vars = Map::new();
    if let Some((_, whole)) = pairs.iter().find(|(key, _)| key == "vars") {
        let Ok(Value::Object(fields)) = serde_json::from_str(whole) else {
            return Err(bad("`vars` is not a JSON object"));
        };
        vars = fields;
    }
    for (key, text) in pairs {
        let Some(path) = key.strip_prefix("vars.") else {
            continue;
        };
        let value = serde_json::from_str(text)
            .map_err(|_| bad(&format!("instance var `{path}` is not JSON")))?;
        put(&mut vars, &segments(path)?, value)?;
    }
    Ok(InstanceVars::new(vars))
}

/// The dotted parts of a path; one with a dot or colon in it is quoted.
fn segments(path: &str) -> Result<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted
                .split_once('"')
                .ok_or_else(|| bad(&format!("the quote in `{path}` has no end")))?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if part.is_empty() || parts.len() == DEEPEST {
            return Err(bad(&format!("`{path}` is not the path of an instance var")));
        }
        parts.push(part.to_owned());
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(parts),
            None => return Err(bad(&format!("`{path}` goes on after a quote"))),
        }
    }
}

fn put(fields: &mut Map<String, Value>, path: &[String], value: Value) -> Result<()> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(());
    };
    if rest.is_empty() {
        fields.insert(first.clone(), value);
        return Ok(());
    }
    let inner = fields
        .entry(first.clone())
        .or_insert_with(|| Value::Object(Map::new()));
    match inner {
        Value::Object(inner) => put(inner, rest, value),
        _ => Err(bad(&format!(
            "instance var `{first}` is both a value and an object"
        ))),
    }
}

fn bad(why: &str) -> ApiError {
    ApiError::BadRequest(format!("malformed instance vars: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<String> {
        let owned: Vec<_> = pairs
            .iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect();
        from_pairs(&owned).map(|vars| vars.to_string())
    }

    #[test]
    fn values_come_one_by_one_or_together() {
        for (pairs, expected) in [
            (&[][..], "{}"),
            (&[("other", "1"), ("varsity", "2")], "{}"),
            (
                &[("vars.a", "1"), ("vars.b.c", "\"x\"")],
                r#"{"a":1,"b":{"c":"x"}}"#,
            ),
            (&[("vars.\"a.b\".c", "true")], r#"{"a.b":{"c":true}}"#),
            (
                &[("vars.a", "2"), ("vars", r#"{"a":1,"b":null}"#)],
                r#"{"a":2,"b":null}"#,
            ),
        ] {
            assert_eq!(read(pairs).unwrap(), expected);
        }
        for bad in [
            ("vars", "[1]"),
            ("vars", "{"),
            ("vars.a", "x"),
            ("vars.", "1"),
            ("vars.a..b", "1"),
            ("vars.\"a", "1"),
            ("vars.\"a\"b", "1"),
        ] {
            assert!(read(&[bad]).is_err(), "{bad:?}");
        }
        assert!(read(&[("vars.a", "1"), ("vars.a.b", "1")]).is_err());
        let deep = format!("vars{}", ".a".repeat(100));
        assert!(read(&[(&deep, "1")]).is_err());
    }
}
