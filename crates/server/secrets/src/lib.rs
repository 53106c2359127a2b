//! Sources of the values of `((variables))` that steps and checks need.
//!
//! ```text
//! ((name))         the installation's manager
//!                    asked by this process at the administrator's address
//! ((source:name))  a var source of the pipeline
//!                    dummy     stands in the pipeline
//!                    idtoken   signed here
//!                    others    a tenant's address: asked by the team's checker
//! ((.:name))       the build's own; the caller brings them along
//! ```
//!
//! - [`Credentials`] is the handle, [`PipelineVariables`] the variables of the builds of one
//!   pipeline;
//! - `keeper` is a keeper of secrets, `source` is a keeper with second tries and a cache;
//! - `installation` and `var_source` make them from settings;
//! - `id_tokens` signs tokens and keeps the keys for it.
//!
//! **Invariants:** this process connects only to managers that its administrator named (decision
//! 21); a value is kept in memory alone, and only if the administrator turned the cache on; no
//! value is logged or in an error. *Absent:* clients of managers (`secret-managers`), redaction
//! (`vars`).

mod cache;
mod dummy;
mod elsewhere;
mod id_tokens;
mod installation;
mod keeper;
mod kubernetes;
mod pipeline;
mod source;
mod var_source;

use std::{sync::Arc, time::Duration};

use airside_check_process::Checkers;
use airside_config::VarSource;
use airside_vars::Reference;
use serde_json::{Map, Value};

pub use airside_secret_managers::Asker;
pub use cache::CacheOptions;
pub use id_tokens::{Error as IdTokenError, IdTokens, Rotation};
pub use installation::Installation;
pub use kubernetes::KubernetesSettings;
pub use pipeline::PipelineVariables;

use source::Source;
use var_source::VarSources;

/// The number and pace of tries of a request that fails for the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// Number of tries in all; at least one.
    pub attempts: u32,
    /// Pause before the second try; each further one is twice as long, up to half a minute.
    pub interval: Duration,
}

impl Default for Tries {
    fn default() -> Self {
        Self {
            attempts: 5,
            interval: Duration::from_secs(1),
        }
    }
}

/// The parts of [`Credentials`].
#[derive(Default)]
pub struct Options {
    /// The manager of the whole installation.
    pub installation: Option<Installation>,
    /// The checkers, which connect to managers that tenants name.
    pub checkers: Option<Checkers>,
    pub id_tokens: Option<IdTokens>,
    pub tries: Tries,
    /// Settings of the cache; without them nothing is kept.
    pub cache: Option<CacheOptions>,
}

/// A handle on all that is known of variables; clones share it.
#[derive(Clone)]
pub struct Credentials(Arc<Parts>);

struct Parts {
    installation: Option<(Installation, Source)>,
    var_sources: VarSources,
}

impl Credentials {
    pub fn new(options: Options) -> Self {
        let (tries, cache) = (options.tries, options.cache);
        let installation = options.installation.map(|installation| {
            let source = Source::new(installation.keeper(), tries, cache);
            (installation, source)
        });
        Self(Arc::new(Parts {
            installation,
            var_sources: VarSources::new(options.checkers, options.id_tokens, tries, cache),
        }))
    }

    /// Returns the variables that an asker with these var sources may use.
    pub fn of(&self, asker: Asker, sources: &[VarSource]) -> PipelineVariables {
        PipelineVariables::new(self.clone(), asker, sources)
    }

    /// The configured managers by type: their settings and how they are.
    pub async fn managers(&self) -> Map<String, Value> {
        let mut managers = Map::new();
        if let Some((installation, _)) = &self.0.installation {
            let shown = installation.shown().await;
            managers.insert(installation.type_().to_owned(), shown);
        }
        managers
    }

    /// Keeps the login at the installation's manager alive; ends if there is nothing to do.
    pub async fn tend_forever(&self) {
        if let Some((installation, _)) = &self.0.installation {
            installation.tend_forever().await;
        }
    }

    /// A variable of the installation.
    async fn installed(
        &self,
        asker: &Asker,
        reference: &Reference,
    ) -> Result<Option<Value>, airside_vars::Error> {
        match &self.0.installation {
            Some((_, source)) => source.get(asker, reference).await,
            None => Ok(None),
        }
    }
}
