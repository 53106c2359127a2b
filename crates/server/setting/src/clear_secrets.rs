//! Passwords in clear: what would stand in a cluster's database if the configuration did.

use serde_json::Value;

/// Parts of keys behind which a text is taken for a secret, in lower case and without `_` and `-`.
const SECRET_KEYS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "privatekey",
    "secret",
    "accesskey",
    "apikey",
    "credential",
];

/// Largest number of paths that are told.
const MAX_PATHS: usize = 20;

/// Returns the paths of texts that look like secrets and are no `((variables))`: at most 20 of
/// them, never a value.
pub fn literal_secrets(config: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    collect(config, "", false, &mut paths);
    paths
}

fn collect(value: &Value, path: &str, is_secret: bool, paths: &mut Vec<String>) {
    if paths.len() >= MAX_PATHS {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() {
                    shown(key)
                } else {
                    format!("{path}.{}", shown(key))
                };
                collect(value, &path, is_secret || is_secret_key(key), paths);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let step = match item.get("name").and_then(Value::as_str) {
                    Some(name) => format!("{path}.{}", shown(name)),
                    None => format!("{path}[{index}]"),
                };
                collect(item, &step, is_secret, paths);
            }
        }
        Value::String(text) if is_secret && is_literal(text) => paths.push(path.to_owned()),
        Value::Number(_) if is_secret => paths.push(path.to_owned()),
        _ => {}
    }
}

/// Keys and names are an author's text, and end up in messages.
fn shown(key: &str) -> String {
    let short: String = key.chars().take(60).collect();
    short.escape_debug().to_string()
}

fn is_literal(text: &str) -> bool {
    !text.is_empty() && !text.contains("((")
}

fn is_secret_key(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect();
    SECRET_KEYS.iter().any(|part| plain.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_behind_keys_of_secrets_are_found() {
        for (config, expected) in [
            (json!({"password": "s3cret"}), vec!["password"]),
            (json!({"password": "((password))"}), vec![]),
            (json!({"password": ""}), vec![]),
            (json!({"password": null, "secret": true}), vec![]),
            (json!({"uri": "s3cret"}), vec![]),
            (
                json!({"TOKEN": 7, "webhook_token": "s3cret"}),
                vec!["TOKEN", "webhook_token"],
            ),
            (
                json!({"resources": [{"name": "r", "source": {"private_key": "s3cret", "branch": "main"}}]}),
                vec!["resources.r.source.private_key"],
            ),
            (
                json!({"jobs": [{"name": "j", "plan": [{"task": "t", "params": {"AWS_SECRET_ACCESS_KEY": "s3cret"}}]}]}),
                vec!["jobs.j.plan[0].params.AWS_SECRET_ACCESS_KEY"],
            ),
            (
                json!({"secrets": {"a": ["s3cret", "((b))", {"c": "s3cret"}]}}),
                vec!["secrets.a[0]", "secrets.a[2].c"],
            ),
            (
                json!({"a\nb": {"api-key": "s3cret"}}),
                vec!["a\\nb.api-key"],
            ),
        ] {
            assert_eq!(literal_secrets(&config), expected, "{config}");
        }
        let many: Vec<Value> = (0..1000).map(|_| json!({"password": "s3cret"})).collect();
        assert_eq!(literal_secrets(&json!({ "a": many })).len(), MAX_PATHS);
    }
}
