//! All that the builds of one pipeline may ask for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use airside_config::{VarSource, order_var_sources};
use airside_secret_managers::Asker;
use airside_vars::{Error, Lookup as _, Reference};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{Credentials, source::Source};

pub struct PipelineVariables {
    credentials: Credentials,
    asker: Asker,
    sources: BTreeMap<String, Named>,
    /// Sources that need each other, or one that is not there.
    stuck: BTreeSet<String>,
}

/// A var source, made when one of its variables is first needed.
struct Named {
    definition: VarSource,
    made: OnceCell<Arc<Source>>,
}

impl PipelineVariables {
    pub(crate) fn new(credentials: Credentials, asker: Asker, sources: &[VarSource]) -> Self {
        // Validated when the pipeline was set; what is left is an old or damaged one.
        let stuck = order_var_sources(sources).err().unwrap_or_default();
        let named = |definition: &VarSource| {
            let named = Named {
                definition: definition.clone(),
                made: OnceCell::new(),
            };
            (definition.name.clone(), named)
        };
        Self {
            credentials,
            asker,
            sources: sources.iter().map(named).collect(),
            stuck: stuck.into_iter().collect(),
        }
    }

    /// Puts in all variables, those of the build from `local`. Gives the value and the secrets that
    /// went into it.
    pub async fn fill(
        &self,
        value: Value,
        local: Option<&airside_vars::VarScope>,
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

    /// Returns the value of one variable; `None` if no source has it.
    pub async fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        if reference.source.is_empty() {
            return self.credentials.installed(&self.asker, reference).await;
        }
        let Some(named) = self.sources.get(&reference.source) else {
            return Err(Error::NoSource {
                source_name: reference.source.clone(),
                name: reference.to_string(),
            });
        };
        let source = self.source(named).await.map_err(|reason| Error::Lookup {
            name: reference.to_string(),
            reason,
        })?;
        source.get(&self.asker, &reference.without_source()).await
    }

    /// The config of a source may have variables of others.
    async fn source(&self, named: &Named) -> Result<Arc<Source>, String> {
        let VarSource {
            name,
            type_,
            config,
        } = &named.definition;
        if self.stuck.contains(name) {
            return Err("it needs another var source that is not there".to_owned());
        }
        let make = async || {
            // In a box, as this is how we got here.
            let filled = Box::pin(self.fill(config.clone(), None)).await;
            let (config, _) = filled.map_err(|error| airside_model::chain(&error))?;
            let sources = &self.credentials.0.var_sources;
            sources.open(&self.asker, type_, &config)
        };
        named.made.get_or_try_init(make).await.cloned()
    }
}

#[cfg(test)]
mod tests;
