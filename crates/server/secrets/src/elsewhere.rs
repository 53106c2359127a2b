//! A manager that a tenant named: the team's checker asks it.

use airside_check_process::{Checkers, Failure, SecretLookup};
use airside_secret_managers::{Asker, Error, Manager, Secret};
use async_trait::async_trait;
use serde_json::Value;

use crate::keeper::Keeper;

pub(crate) struct Elsewhere {
    checkers: Checkers,
    type_: String,
    config: Value,
    /// Knows the paths, and is never asked to connect.
    manager: Box<dyn Manager>,
}

impl Elsewhere {
    pub(crate) fn new(checkers: Checkers, type_: &str, config: &Value) -> Result<Self, Error> {
        Ok(Self {
            manager: airside_secret_managers::open(type_, config)?,
            checkers,
            type_: type_.to_owned(),
            config: config.clone(),
        })
    }
}

#[async_trait]
impl Keeper for Elsewhere {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        self.manager.paths(asker, name)
    }

    async fn read(&self, asker: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        let look = SecretLookup {
            team: asker.team.clone(),
            type_: self.type_.clone(),
            config: self.config.clone(),
            path: path.to_owned(),
            timeout: self.manager.patience(),
        };
        match self.checkers.secret(&look).await {
            Ok(said) => said,
            Err(failure @ Failure::TooLarge { .. }) => {
                Err(Error::Refused(airside_model::chain(&failure)))
            }
            Err(failure) => Err(Error::Away(airside_model::chain(&failure))),
        }
    }
}
