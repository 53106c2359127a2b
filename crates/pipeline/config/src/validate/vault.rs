//! The settings of a Vault as a var source. What has a variable in it is known only when it is
//! used.

use serde_json::{Map, Value};

use super::var_sources::check_settings;
use crate::parse_duration;

const TEXTS: [&str; 11] = [
    "url",
    "path_prefix",
    "shared_path",
    "namespace",
    "ca_cert",
    "client_cert",
    "client_key",
    "server_name",
    "client_token",
    "client_token_path",
    "auth_backend",
];
const FLAGS: [&str; 3] = [
    "enable_kv_mount_cache",
    "disable_srv_lookup",
    "insecure_skip_verify",
];
const DURATIONS: [&str; 5] = [
    "login_timeout",
    "query_timeout",
    "auth_backend_max_ttl",
    "auth_retry_max",
    "auth_retry_initial",
];
const OTHERS: [&str; 2] = ["lookup_templates", "auth_params"];

pub(super) fn check(config: &Map<String, Value>) -> Result<(), String> {
    check_settings(config, &[&TEXTS, &FLAGS, &DURATIONS, &OTHERS])?;
    for (name, value) in config {
        if !value.is_null() && !is_variable(value) {
            check_setting(name, value)?;
        }
    }
    let url = config.get("url").and_then(Value::as_str);
    let url = url.unwrap_or_default();
    if !url.contains("((") {
        check_url(url)?;
    }
    let is_set = |name: &str| {
        config
            .get(name)
            .is_some_and(|value| *value != "" && !value.is_null())
    };
    let can_log_in = ["client_token", "client_token_path", "auth_backend"];
    if !can_log_in.into_iter().any(is_set) {
        return Err("must configure client token or auth backend".to_owned());
    }
    Ok(())
}

/// Returns true if the value is one variable, which may become anything.
fn is_variable(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.starts_with("((") && text.ends_with("))")
}

/// Says what is wrong with a setting without its value, which may be a secret.
fn check_setting(name: &str, value: &Value) -> Result<(), String> {
    let wanted = match name {
        "path_prefix" if *value == "" => {
            return Err("path prefix must be a non-empty string".to_owned());
        }
        "lookup_templates" => return check_templates(value),
        "auth_params" => match value {
            Value::Object(params) if params.values().all(Value::is_string) => return Ok(()),
            _ => "a map of texts",
        },
        name if FLAGS.contains(&name) => match value {
            Value::Bool(_) => return Ok(()),
            _ => "true or false",
        },
        name if DURATIONS.contains(&name) => match value {
            Value::String(text) if text.contains("((") => return Ok(()),
            Value::String(text) if parse_duration(text).is_some() => return Ok(()),
            _ => "a duration such as 30s",
        },
        _ if value.is_string() => return Ok(()),
        _ => "a text",
    };
    Err(format!("{name} must be {wanted}"))
}

fn check_url(url: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Err("the scheme of the url must be http or https".to_owned());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err("the url must have a host".to_owned());
    }
    Ok(())
}

fn check_templates(value: &Value) -> Result<(), String> {
    let Value::Array(templates) = value else {
        return Err("lookup_templates must be a list".to_owned());
    };
    for (index, template) in templates.iter().enumerate() {
        let Value::String(template) = template else {
            return Err(format!("lookup_templates[{index}] must be a text"));
        };
        check_holes(template).map_err(|words| format!("lookup_templates[{index}] {words}"))?;
    }
    Ok(())
}

/// Refuses what the secret manager's own reader of templates would refuse later.
fn check_holes(template: &str) -> Result<(), String> {
    if template.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    let mut rest = template;
    while let Some((_, after)) = rest.split_once("{{") {
        let (hole, after) = after.split_once("}}").ok_or("has no `}}` after a `{{`")?;
        if ![".Team", ".Pipeline", ".Secret"].contains(&hole.trim()) {
            return Err(format!(
                "has {{{{{hole}}}}}, and only {{{{.Team}}}}, {{{{.Pipeline}}}} and {{{{.Secret}}}} are known"
            ));
        }
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(more: Value) -> Result<(), String> {
        let mut config = json!({"url": "https://vault.example.org", "client_token": "x"});
        let all = config.as_object_mut().unwrap();
        all.extend(more.as_object().unwrap().clone());
        check(all)
    }

    #[test]
    fn what_is_right_or_still_open_passes() {
        for more in [
            json!({}),
            json!({"url": "HTTP://[::1]:8200/x"}),
            json!({"url": "((u))"}),
            json!({"url": "https://((host)):8200"}),
            json!({"url": "((scheme))://vault", "client_token": "((t))"}),
            json!({"lookup_templates": ["/{{.Team}}/{{ .Secret }}"], "login_timeout": "1m"}),
            json!({"lookup_templates": "((templates))", "query_timeout": "((n))s"}),
            json!({"auth_params": {"role_id": "((r))"}, "insecure_skip_verify": true}),
            json!({"enable_kv_mount_cache": "((cache))", "namespace": null}),
        ] {
            assert_eq!(verdict(more.clone()), Ok(()), "{more}");
        }
    }

    #[test]
    fn what_could_never_work_is_refused() {
        for (more, words) in [
            (json!({"url": "vault.example.org"}), "scheme of the url"),
            (json!({"url": null}), "scheme of the url"),
            (json!({"url": "ftp://h"}), "scheme of the url"),
            (json!({"url": "https://:80"}), "must have a host"),
            (json!({"url": "https://user@:80/x"}), "must have a host"),
            (json!({"url": 5}), "url must be a text"),
            (json!({"path_prefix": 5}), "path_prefix must be a text"),
            (json!({"path_prefix": ""}), "path prefix must be"),
            (
                json!({"client_token": {"hunter2": "b"}}),
                "client_token must be a text",
            ),
            (json!({"client_token": ""}), "must configure client token"),
            (
                json!({"auth_params": {"a": 1}}),
                "auth_params must be a map",
            ),
            (
                json!({"login_timeout": "soon"}),
                "login_timeout must be a duration",
            ),
            (
                json!({"insecure_skip_verify": "yes"}),
                "must be true or false",
            ),
            (
                json!({"lookup_templates": "x"}),
                "lookup_templates must be a list",
            ),
            (
                json!({"lookup_templates": ["{{.Job}}"]}),
                "lookup_templates[0] has {{.Job}}",
            ),
            (
                json!({"lookup_templates": ["a", "{{.Team"]}),
                "lookup_templates[1] has no",
            ),
            (json!({"uri": "x"}), "unknown setting 'uri'"),
        ] {
            let error = verdict(more.clone()).unwrap_err();
            assert!(error.contains(words), "{more}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
