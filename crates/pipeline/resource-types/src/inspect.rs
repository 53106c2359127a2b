//! Looks into the settings of a pipeline without running anything: keys that a type does not know,
//! and values that it would refuse. It reads them as checks, gets and puts do.

mod field_names;

use serde_json::Value;

use crate::{
    Failure, Object, Part, Type, git, github_release, http, kubernetes, mock, pool, registry_image,
    s3, semver, time,
};

pub(crate) use field_names::field_names;

/// The number of mistakes of one map that are named.
const MAX_MISTAKES: usize = 20;

/// A map of settings that a pipeline has for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsPart {
    Source,
    GetParams,
    PutParams,
}

/// Something in a map of settings that will not work, or has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsMistake {
    /// Key that is wrong or missing, if the mistake is about one.
    pub key: Option<String>,
    /// Sentence about the mistake, which names the key.
    pub words: String,
    /// Keys that the type knows, if it does not know this one.
    pub known: Option<&'static [&'static str]>,
}

/// How a type reads one of its maps.
pub(crate) struct Form {
    pub(crate) keys: fn() -> &'static [&'static str],
    pub(crate) read: fn(Object) -> Result<(), Failure>,
}

/// How a type reads all of its maps.
pub(crate) struct Forms {
    pub(crate) source: Form,
    pub(crate) get: Form,
    pub(crate) put: Form,
}

impl Type {
    fn forms(self) -> &'static Forms {
        match self {
            Self::Git => &git::FORMS,
            Self::GithubRelease => &github_release::FORMS,
            Self::Http => &http::FORMS,
            Self::Kubernetes => &kubernetes::FORMS,
            Self::Mock => &mock::FORMS,
            Self::Pool => &pool::FORMS,
            Self::RegistryImage => &registry_image::FORMS,
            Self::S3 => &s3::FORMS,
            Self::Semver => &semver::FORMS,
            Self::Time => &time::FORMS,
        }
    }
}

/// Returns what is wrong with settings of a native type. Values with `((variables))` may be
/// anything, and are left alone. Of types that are not native nothing is known.
pub fn inspect_settings(
    type_: &str,
    part: SettingsPart,
    settings: &Object,
) -> Vec<SettingsMistake> {
    let Some(forms) = Type::find(type_).map(Type::forms) else {
        return Vec::new();
    };
    let form = match part {
        SettingsPart::Source => &forms.source,
        SettingsPart::GetParams => &forms.get,
        SettingsPart::PutParams => &forms.put,
    };
    let known = (form.keys)();
    let (rest, unknown): (Object, Object) = settings
        .clone()
        .into_iter()
        .partition(|(key, _)| known.contains(&key.as_str()) || key.contains("(("));
    let rest = rest.into_iter().filter(|(key, _)| !key.contains("(("));
    let unknown = unknown.into_iter().take(MAX_MISTAKES);
    let unknown = unknown.map(|(key, value)| unknown_key(type_, part, form, key, value));
    unknown.chain(first_mistake(form, rest.collect())).collect()
}

fn unknown_key(
    type_: &str,
    part: SettingsPart,
    form: &Form,
    key: String,
    value: Value,
) -> SettingsMistake {
    let alone = Object::from_iter([(key.clone(), value)]);
    let is_refused = matches!((form.read)(alone), Err(Failure::Invalid { .. }));
    let end = if is_refused {
        "and will be refused"
    } else {
        "and has no effect"
    };
    let part = match part {
        SettingsPart::Source => Part::Source,
        SettingsPart::GetParams | SettingsPart::PutParams => Part::Params,
    };
    SettingsMistake {
        words: format!("{part}.{key} is not a key of type `{type_}` {end}"),
        key: Some(key),
        known: Some((form.keys)()),
    }
}

/// Returns the first mistake that does not come from a value with a variable.
fn first_mistake(form: &Form, mut settings: Object) -> Option<SettingsMistake> {
    let mut is_whole = true;
    // Each turn but the last leaves out a key.
    loop {
        let failure = (form.read)(settings.clone()).err()?;
        let words = airside_model::chain(&failure);
        let named = top_key(&failure);
        let key = named.clone().or_else(|| culprit(form, &settings, &words));
        let value = key.as_ref().and_then(|key| settings.get(key));
        if value.is_some_and(has_variable) {
            settings.remove(&key?);
            is_whole = false;
            continue;
        }
        // Without a key that has a variable another one may be missing, or seem to be.
        let is_sure = is_whole || (named.is_some() && value.is_some());
        let has_variables = settings.values().any(has_variable);
        return (is_sure && (key.is_some() || !has_variables)).then_some(SettingsMistake {
            key,
            words,
            known: None,
        });
    }
}

/// Returns the key of the map that a failure is about: of `registry_mirror.host` the first part.
fn top_key(failure: &Failure) -> Option<String> {
    let key = match failure {
        Failure::Key { key, .. } => Some(key),
        Failure::Invalid { key, .. } => key.as_ref(),
        _ => None,
    };
    let key = key?.split('.').next().unwrap_or_default();
    Some(key.to_owned())
}

/// Returns the key without which the failure would be another one, or none.
fn culprit(form: &Form, settings: &Object, words: &str) -> Option<String> {
    let mut keys = settings.keys();
    let found = keys.find(|key| {
        let mut rest = settings.clone();
        rest.remove(*key);
        let other = (form.read)(rest)
            .err()
            .map(|failure| airside_model::chain(&failure));
        other.as_deref() != Some(words)
    });
    found.cloned()
}

fn has_variable(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("(("),
        Value::Array(items) => items.iter().any(has_variable),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key.contains("((") || has_variable(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
