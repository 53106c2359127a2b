//! Settings of a var source of type `idtoken`.

use std::time::Duration;

use airside_model::{chain, read_duration};
use serde::Deserialize;
use serde_json::Value;

use super::key::Algorithm;

const EXPIRES_IN: Duration = Duration::from_secs(3600);
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdTokenSettings {
    pub(crate) audience: Vec<String>,
    pub(crate) subject: SubjectScope,
    pub(crate) expires_in: Duration,
    pub(crate) algorithm: Algorithm,
}

/// The part of the asker that the subject names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SubjectScope {
    Team,
    #[default]
    Pipeline,
    Instance,
    Job,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Written {
    audience: Vec<String>,
    subject_scope: Option<SubjectScope>,
    expires_in: Option<String>,
    algorithm: Option<Algorithm>,
}

impl IdTokenSettings {
    /// Validated when the pipeline was set, but for what variables came to.
    pub(crate) fn read(config: &Value) -> Result<Self, String> {
        let written = match config {
            Value::Null => Written::default(),
            config => serde_json::from_value(config.clone())
                .map_err(|error| format!("its config is wrong: {}", chain(&error)))?,
        };
        let expires_in = match written.expires_in.as_deref() {
            None => EXPIRES_IN,
            Some(text) => {
                read_duration(text).map_err(|why| format!("its expires_in, {text:?}, {why}"))?
            }
        };
        if expires_in > MAX_LIFETIME {
            return Err("its expires_in is longer than 24h".to_owned());
        }
        Ok(Self {
            audience: written.audience,
            subject: written.subject_scope.unwrap_or_default(),
            expires_in,
            algorithm: written.algorithm.unwrap_or_default(),
        })
    }
}
