//! Var sources have names and types, settings that their type knows, and an order.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Checker;
use crate::var_source::TYPES;
use crate::{VarSource, order_var_sources, parse_duration, suggest};

/// Types of var sources that Concourse has for whole installations only.
const NOT_IN_PIPELINES: [&str; 3] = ["conjur", "credhub", "kubernetes"];

const AWS: [&str; 4] = ["access_key", "secret_key", "session_token", "region"];
const SSM: [&str; 3] = [
    "pipeline_secret_template",
    "team_secret_template",
    "shared_path",
];
const SECRETS_MANAGER: [&str; 3] = [
    "pipeline_secret_template",
    "team_secret_template",
    "shared_secret_template",
];
const ID_TOKEN: [&str; 4] = ["audience", "subject_scope", "expires_in", "algorithm"];
const LONGEST_ID_TOKEN: Duration = Duration::from_secs(24 * 3600);

pub(super) fn check(checker: &mut Checker<'_>) {
    let sources = &checker.config.var_sources;
    let names = sources.iter().map(|source| source.name.as_str());
    checker.names("var_sources", names, &mut HashMap::new());
    for (index, source) in sources.iter().enumerate() {
        if let Err(message) = check_source(source) {
            checker.plain_problem(&format!("var_sources[{index}]"), message);
        }
    }
    if let Err(stuck) = order_var_sources(sources) {
        let place = stuck.first().map(|name| format!("var_sources.{name}"));
        let message = format!(
            "failed to order by dependency: could not resolve inter-dependent var sources: {}",
            stuck.join(", ")
        );
        checker.plain_problem(&place.unwrap_or_default(), message);
    }
}

fn check_source(source: &VarSource) -> Result<(), String> {
    let type_ = source.type_.as_str();
    if NOT_IN_PIPELINES.contains(&type_) {
        return Err(format!(
            "credential manager type {type_} is not supported in pipeline yet"
        ));
    }
    if !TYPES.contains(&type_) {
        let hint = suggest::hint(type_, TYPES);
        return Err(format!("unknown credential manager type: {type_}{hint}"));
    }
    let Value::Object(config) = &source.config else {
        return Err(format!(
            "failed to create credential manager {}: its config must be a map",
            source.name
        ));
    };
    let checked = match type_ {
        "dummy" => check_dummy(config),
        "vault" => super::vault::check(config),
        "ssm" => check_aws(config, &SSM),
        "secretsmanager" => check_aws(config, &SECRETS_MANAGER),
        _ => check_id_token(config),
    };
    checked.map_err(|reason| format!("credential manager {} is invalid: {reason}", source.name))
}

pub(super) fn check_settings(config: &Map<String, Value>, known: &[&[&str]]) -> Result<(), String> {
    let known = || known.iter().flat_map(|names| names.iter().copied());
    match config.keys().find(|key| known().all(|name| name != *key)) {
        Some(key) => Err(format!(
            "unknown setting '{key}'{}",
            suggest::hint(key, known())
        )),
        None => Ok(()),
    }
}

fn check_dummy(config: &Map<String, Value>) -> Result<(), String> {
    check_settings(config, &[&["vars"]])?;
    match config.get("vars") {
        Some(Value::Object(_)) => Ok(()),
        _ => Err("`vars` must be a map".to_owned()),
    }
}

fn check_aws(config: &Map<String, Value>, own: &[&str]) -> Result<(), String> {
    check_settings(config, &[&AWS, own])?;
    let has = |name| {
        config
            .get(name)
            .is_some_and(|value| *value != "" && !value.is_null())
    };
    let any = has("access_key") || has("secret_key") || has("session_token");
    match (any, has("access_key"), has("secret_key")) {
        (true, false, _) => Err("must provide aws access key id".to_owned()),
        (true, _, false) => Err("must provide aws secret access key".to_owned()),
        _ => Ok(()),
    }
}

fn check_id_token(config: &Map<String, Value>) -> Result<(), String> {
    check_settings(config, &[&ID_TOKEN])?;
    match config.get("audience") {
        None => {}
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {}
        Some(_) => return Err("audience must be a list of strings".to_owned()),
    }
    for (name, words) in [
        (
            "subject_scope",
            &["team", "pipeline", "instance", "job"][..],
        ),
        ("algorithm", &["RS256", "ES256"]),
    ] {
        let valid = match config.get(name) {
            None => true,
            Some(Value::String(word)) => words.contains(&word.as_str()),
            Some(_) => false,
        };
        if !valid {
            return Err(format!("{name} must be one of {}", words.join(", ")));
        }
    }
    let expires_in = match config.get("expires_in") {
        None => Some(Duration::ZERO),
        Some(Value::String(text)) => parse_duration(text),
        Some(_) => None,
    };
    match expires_in {
        None => Err("expires_in must be a duration".to_owned()),
        Some(time) if time > LONGEST_ID_TOKEN => Err("expires_in must be <= 24h0m0s".to_owned()),
        Some(_) => Ok(()),
    }
}
