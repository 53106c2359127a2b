//! Values that stand in the settings themselves, for trials.

use airside_secrets::{Asker, Error, Secret};
use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::keeper::Keeper;

/// By name; a team and a pipeline before it make it theirs.
pub(crate) struct Dummy(pub(crate) Map<String, Value>);

#[async_trait]
impl Keeper for Dummy {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        let team = &asker.team;
        let own = asker.pipeline.iter();
        let own = own.map(|pipeline| format!("{team}/{pipeline}/{name}"));
        Ok(own
            .chain([format!("{team}/{name}"), name.to_owned()])
            .collect())
    }

    async fn read(&self, _: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        Ok(self.0.get(path).cloned().map(Secret::new))
    }

    fn may_be_kept(&self) -> bool {
        false
    }
}
