//! Names of pipelines and teams, and how pipelines are called in messages.

use airside_config::{Warning, validate_identifier};
use airside_model::chain;
use airside_store::InstanceVars;

/// Returns an error for a name that no pipeline or team may have, or a warning for an odd one.
/// `what` is the word for the thing that is named.
pub fn check_name(name: &str, what: &str) -> Result<Option<Warning>, String> {
    let tricky = |c: char| matches!(c, '/' | '\\') || c.is_control();
    if name.chars().any(tricky) || matches!(name, "." | "..") || name.len() > 255 {
        return Err(format!(
            "{what}: '{}' has a character that is not allowed, or is too long",
            name.chars().take(80).collect::<String>().escape_debug()
        ));
    }
    validate_identifier(name, what).map_err(|error| chain(&error))
}

/// Returns `name` or `name/key:value,…`, as `fly` writes it.
pub fn pipeline_reference(name: &str, instance_vars: &InstanceVars) -> String {
    if instance_vars.is_empty() {
        return name.to_owned();
    }
    let vars = airside_vars::InstanceVars(instance_vars.as_map().clone());
    let vars = vars.shown(airside_yaml::is_text);
    format!("{name}/{vars}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names() {
        for (name, expected) in [
            ("app", Ok(false)),
            ("my-app.2", Ok(false)),
            ("App", Ok(true)),
            ("my app", Ok(true)),
            ("", Err(())),
            ("..", Err(())),
            ("../b", Err(())),
            ("a\\b", Err(())),
            ("a\nb", Err(())),
            (&"a".repeat(256), Err(())),
        ] {
            let checked = check_name(name, "pipeline");
            let shown = checked.map(|warning| warning.is_some()).map_err(drop);
            assert_eq!(shown, expected, "{name:?}");
        }
        let error = check_name(&"/".repeat(1000), "team").unwrap_err();
        assert!(error.starts_with("team: '") && error.len() < 200, "{error}");
    }

    #[test]
    fn references() {
        let with = |vars: serde_json::Value| {
            let vars = vars.as_object().cloned().unwrap();
            pipeline_reference("app", &InstanceVars::new(vars))
        };
        assert_eq!(with(json!({})), "app");
        assert_eq!(with(json!({"branch": "main"})), "app/branch:main");
    }
}
