//! The manager of the whole installation, as its operator configured it.

use std::{sync::Arc, time::Duration};

use airside_runtime_kubernetes::{SecretReader, SecretsError};
use airside_secret_managers::{Asker, Error, Manager, Owner, Secret};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::{
    dummy::Dummy,
    keeper::Keeper,
    kubernetes::{Kubernetes, KubernetesSettings},
};

pub struct Installation(Kind);

enum Kind {
    Dummy(Map<String, Value>),
    Kubernetes(Kubernetes),
    /// A manager by the name that Concourse has for its type.
    Manager(&'static str, Arc<dyn Manager>),
}

impl Installation {
    /// Values that stand in the server's settings, for trials.
    pub fn dummy(values: Map<String, Value>) -> Self {
        Self(Kind::Dummy(values))
    }

    pub fn vault(vault: airside_secret_managers::Vault) -> Self {
        Self(Kind::Manager("vault", Arc::new(vault)))
    }

    pub fn ssm(ssm: airside_secret_managers::Ssm) -> Self {
        Self(Kind::Manager("ssm", Arc::new(ssm)))
    }

    pub fn secrets_manager(manager: airside_secret_managers::SecretsManager) -> Self {
        Self(Kind::Manager("secretsmanager", Arc::new(manager)))
    }

    pub async fn kubernetes(settings: KubernetesSettings) -> Result<Self, SecretsError> {
        let reader = SecretReader::connect(settings.kubeconfig.as_deref()).await?;
        Ok(Self(Kind::Kubernetes(Kubernetes { settings, reader })))
    }

    /// Returns Concourse's name of its type.
    pub(crate) fn type_(&self) -> &'static str {
        match &self.0 {
            Kind::Dummy(_) => "dummy",
            Kind::Kubernetes(_) => "kubernetes",
            Kind::Manager(type_, _) => type_,
        }
    }

    pub(crate) fn keeper(&self) -> Box<dyn Keeper> {
        match &self.0 {
            Kind::Dummy(values) => Box::new(Dummy {
                values: values.clone(),
                owner: Owner::Installation,
            }),
            Kind::Kubernetes(kubernetes) => Box::new(kubernetes.clone()),
            Kind::Manager(_, manager) => Box::new(Here(manager.clone())),
        }
    }

    /// Returns the manager's settings and health.
    pub(crate) async fn shown(&self) -> Value {
        match &self.0 {
            Kind::Dummy(_) => json!({"health": {"method": "noop"}}),
            Kind::Kubernetes(kubernetes) => kubernetes.settings.shown(),
            Kind::Manager(_, manager) => {
                let own = manager.clone();
                let asked =
                    airside_tasks::blocking("health of secrets", move || own.health()).await;
                let mut shown = manager.shown();
                shown["health"] = match asked {
                    Ok((method, Ok(response))) => json!({"method": method, "response": response}),
                    Ok((method, Err(error))) => {
                        json!({"method": method, "error": airside_model::chain(&error)})
                    }
                    Err(_) => json!({"error": "it could not be asked"}),
                };
                shown
            }
        }
    }

    /// Keeps its login alive for as long as it has one.
    pub(crate) async fn tend_forever(&self) {
        let Kind::Manager(_, manager) = &self.0 else {
            return;
        };
        loop {
            let own = manager.clone();
            let next = airside_tasks::blocking("login of secrets", move || own.tend()).await;
            let Ok(Some(next)) = next else {
                return;
            };
            tokio::time::sleep(next.max(Duration::from_secs(1))).await;
        }
    }
}

/// A manager that this process asks itself.
struct Here(Arc<dyn Manager>);

#[async_trait]
impl Keeper for Here {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        self.0.paths(asker, name)
    }

    async fn read(&self, _: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        let (manager, path) = (self.0.clone(), path.to_owned());
        let read = airside_tasks::blocking("secret", move || manager.read(&path)).await;
        read.unwrap_or_else(|_| Err(Error::Away("the question was interrupted".to_owned())))
    }
}
