//! Where `((variables))` that are still in a plan get their values from when a step runs.
//!
//! `((.:name))` is the build's own; `((source:name))` belongs to one of the pipeline's var sources;
//! `((name))` is the installation's. Of var sources only `dummy` is here: one that asks a secret
//! store implements [`Variables`] and gets its arm in [`Source::new`].

use std::{collections::BTreeMap, sync::Arc};

use airside_config::{Config, VarSource, order_var_sources};
use airside_vars::{Error, Given, Lookup, Reference};
use async_trait::async_trait;
use serde_json::{Map, Value};

/// Somebody who may know variables, perhaps by asking another server.
#[async_trait]
pub trait Variables: Send + Sync + 'static {
    /// `None` if it knows no such variable. Who asks may be told more than others.
    async fn get(&self, asker: &Asker, reference: &Reference) -> Result<Option<Value>, Error>;
}

/// For whom a variable is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    pub team: String,
    pub pipeline: Option<String>,
}

impl Asker {
    /// The paths under which a store may keep a variable, the most particular one first.
    pub fn paths(&self, path: &str) -> Vec<String> {
        let team = &self.team;
        let own = self.pipeline.iter();
        own.map(|pipeline| format!("{team}/{pipeline}/{path}"))
            .chain([format!("{team}/{path}"), path.to_owned()])
            .collect()
    }
}

/// An installation without a secret store.
pub struct NoVariables;

#[async_trait]
impl Variables for NoVariables {
    async fn get(&self, _: &Asker, _: &Reference) -> Result<Option<Value>, Error> {
        Ok(None)
    }
}

/// Values that stand in the var source itself.
struct Dummy(Map<String, Value>);

#[async_trait]
impl Variables for Dummy {
    async fn get(&self, asker: &Asker, reference: &Reference) -> Result<Option<Value>, Error> {
        for path in asker.paths(&reference.path) {
            let reference = Reference {
                path,
                ..reference.clone()
            };
            if let Some(value) = Given(self.0.clone()).get(&reference)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// A var source of a pipeline, or why it cannot be asked.
enum Source {
    Ready(Box<dyn Variables>),
    Broken(String),
}

impl Source {
    fn new(type_: &str, config: &Value) -> Self {
        match type_ {
            "dummy" => {
                let vars = config.get("vars").and_then(Value::as_object);
                Self::Ready(Box::new(Dummy(vars.cloned().unwrap_or_default())))
            }
            other => Self::Broken(format!(
                "var sources of type `{other}` are not supported by this version of Airside"
            )),
        }
    }
}

/// All that the builds of one pipeline may ask for.
pub(crate) struct PipelineVariables {
    asker: Asker,
    sources: BTreeMap<String, Source>,
    installation: Arc<dyn Variables>,
}

impl PipelineVariables {
    pub(crate) async fn new(
        asker: Asker,
        config: Option<&Config>,
        installation: Arc<dyn Variables>,
    ) -> Self {
        let mut variables = Self {
            asker,
            sources: BTreeMap::new(),
            installation,
        };
        let sources = config.map(|config| config.var_sources.as_slice());
        match order_var_sources(sources.unwrap_or_default()) {
            Ok(ordered) => {
                for source in ordered {
                    let made = variables.source(source).await;
                    variables.sources.insert(source.name.clone(), made);
                }
            }
            // Validated when the pipeline was set; what is left is an old or damaged one.
            Err(names) => {
                let broken = |name: String| {
                    let words = "it needs another var source that is not there".to_owned();
                    (name, Source::Broken(words))
                };
                variables.sources.extend(names.into_iter().map(broken));
            }
        }
        variables
    }

    /// The config of a source may have variables of those before it.
    async fn source(&self, source: &VarSource) -> Source {
        match self.fill(source.config.clone(), None).await {
            Ok((config, _)) => Source::new(&source.type_, &config),
            Err(error) => Source::Broken(error.to_string()),
        }
    }

    /// Puts in all variables, those of the build from `local`. Gives the value and the secrets that
    /// went into it.
    pub(crate) async fn fill(
        &self,
        value: Value,
        local: Option<&airside_vars::Scope>,
    ) -> Result<(Value, Vec<Value>), Error> {
        let (mut known, mut secrets) = (BTreeMap::new(), Vec::new());
        for name in airside_vars::names_in(&value) {
            let reference = Reference::parse(&name)?;
            let found = if reference.source == airside_vars::LOCAL {
                local
                    .map(|scope| scope.get(&reference))
                    .transpose()?
                    .flatten()
            } else {
                let found = self.get(&reference).await?;
                secrets.extend(found.clone());
                found
            };
            if let Some(found) = found {
                known.insert(reference, found);
            }
        }
        let lookup = |reference: &Reference| Ok(known.get(reference).cloned());
        let filled = airside_vars::resolve(value, &lookup)?;
        Ok((filled, secrets))
    }

    async fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        if reference.source.is_empty() {
            return self.installation.get(&self.asker, reference).await;
        }
        match self.sources.get(&reference.source) {
            Some(Source::Ready(source)) => {
                source.get(&self.asker, &reference.without_source()).await
            }
            Some(Source::Broken(reason)) => Err(Error::Lookup {
                name: reference.to_string(),
                reason: reason.clone(),
            }),
            None => Err(Error::NoSource {
                source_name: reference.source.clone(),
                name: reference.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PIPELINE: &str = r#"
var_sources:
- {name: second, type: dummy, config: {vars: {b: ((first:a.x))}}}
- {name: first, type: dummy, config: {vars: {a: {x: deep}, main/p/c: particular, c: common}}}
- {name: away, type: vault, config: {url: https://vault.example.org, client_token: x}}
jobs: [{name: j, plan: [{load_var: v, file: a/b}]}]
"#;

    async fn variables() -> PipelineVariables {
        let config = airside_config::load(PIPELINE).unwrap().config;
        let asker = Asker {
            team: "main".to_owned(),
            pipeline: Some("p".to_owned()),
        };
        PipelineVariables::new(asker, Some(&config), Arc::new(NoVariables)).await
    }

    #[tokio::test]
    async fn every_source_answers_for_its_own() {
        let variables = variables().await;
        let local = Arc::new(airside_vars::Scope::default());
        local.add("l", json!([1]));
        for (text, filled, secrets) in [
            ("((first:a.x))", json!("deep"), vec![json!("deep")]),
            ("x-((second:b))", json!("x-deep"), vec![json!("deep")]),
            (
                "((first:c))",
                json!("particular"),
                vec![json!("particular")],
            ),
            ("((.:l))", json!([1]), vec![]),
            ("plain", json!("plain"), vec![]),
        ] {
            let found = variables.fill(json!(text), Some(&local)).await.unwrap();
            assert_eq!(found, (filled, secrets), "{text}");
        }
    }

    #[tokio::test]
    async fn what_nobody_knows_is_named() {
        let variables = variables().await;
        for (text, words) in [
            ("((x)) ((y))", "undefined vars: x, y"),
            ("((.:x))", "undefined vars: .:x"),
            ("((first:x))", "undefined vars: first:x"),
            ("((third:x))", "missing source 'third' in var: third:x"),
            (
                "((away:x))",
                "cannot look up var 'away:x': var sources of type `vault` are not supported by this \
                 version of Airside",
            ),
        ] {
            let error = variables.fill(json!(text), None).await.unwrap_err();
            assert_eq!(error.to_string(), words, "{text}");
        }
    }
}
