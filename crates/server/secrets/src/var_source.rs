//! Var sources of pipelines.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_check_process::Checkers;
use airside_secret_managers::{Asker, Owner};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    CacheOptions, IdTokens, Tries,
    dummy::Dummy,
    elsewhere::Elsewhere,
    id_tokens::{IdTokenKeeper, IdTokenSettings},
    keeper::Keeper,
    source::Source,
};

/// A source that was not used for this long is forgotten, and with it the answers that it kept.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

pub(crate) struct VarSources {
    checkers: Option<Checkers>,
    id_tokens: Option<IdTokens>,
    tries: Tries,
    cache: Option<CacheOptions>,
    /// Sources whose answers are kept, by team, type and settings: a secret that a team may not
    /// read itself, it does not get from here.
    kept: Mutex<HashMap<String, (Arc<Source>, Instant)>>,
}

impl VarSources {
    pub(crate) fn new(
        checkers: Option<Checkers>,
        id_tokens: Option<IdTokens>,
        tries: Tries,
        cache: Option<CacheOptions>,
    ) -> Self {
        Self {
            checkers,
            id_tokens,
            tries,
            cache,
            kept: Mutex::default(),
        }
    }

    /// A source by its type and its settings, which have their variables filled in.
    pub(crate) fn open(
        &self,
        asker: &Asker,
        type_: &str,
        config: &Value,
    ) -> Result<Arc<Source>, String> {
        let keeper = self.keeper(type_, config)?;
        if self.cache.is_none() || !keeper.may_be_kept() {
            return Ok(Arc::new(Source::new(keeper, self.tries, None)));
        }
        let key = serde_json::to_string(&(&asker.team, type_, config)).unwrap_or_default();
        let (mut kept, now) = (self.kept.lock(), Instant::now());
        kept.retain(|_, (_, used)| now.duration_since(*used) < FORGOTTEN_AFTER);
        let make = || (Arc::new(Source::new(keeper, self.tries, self.cache)), now);
        let (source, used) = kept.entry(key).or_insert_with(make);
        *used = now;
        Ok(source.clone())
    }

    fn keeper(&self, type_: &str, config: &Value) -> Result<Box<dyn Keeper>, String> {
        match type_ {
            "dummy" => {
                let vars = config.get("vars").and_then(Value::as_object);
                Ok(Box::new(Dummy {
                    values: vars.cloned().unwrap_or_default(),
                    owner: Owner::Pipeline,
                }))
            }
            "idtoken" => {
                let signer = self.id_tokens.clone();
                let signer = signer.ok_or("this server signs no id tokens")?;
                let settings = IdTokenSettings::read(config)?;
                Ok(Box::new(IdTokenKeeper { signer, settings }))
            }
            _ => {
                let checkers = self.checkers.clone();
                let checkers =
                    checkers.ok_or("this server asks no secret managers for pipelines")?;
                let keeper = Elsewhere::new(checkers, type_, config);
                Ok(Box::new(
                    keeper.map_err(|error| airside_model::chain(&error))?,
                ))
            }
        }
    }
}
