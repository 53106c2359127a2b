//! Finds out what a target lacks before a step does: rights, pods that its admission refuses, and
//! what its nodes cannot do.
//!
//! Only what the API server says while it is ready counts; what cannot be found out now is not
//! lacking.

mod kinds;
mod nodes;
mod rights;
mod shapes;

use std::time::Duration;

use airside_model::InstallationId;
use airside_runtime::Lack;
use kube::Client;

use crate::{ready, refusal::classify, targets::Target};

/// No single question may hang.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Preflight {
    target: Target,
    installation: InstallationId,
    client: Client,
    found: nodes::LastResult,
}

/// The answer cannot be found out now.
#[derive(Debug)]
pub(crate) struct Unknown;

impl Preflight {
    pub(crate) fn new(target: &Target, installation: &InstallationId, client: &Client) -> Self {
        Self {
            target: target.clone(),
            installation: installation.clone(),
            client: client.clone(),
            found: nodes::LastResult::default(),
        }
    }

    /// Everything that is lacking, but for what only a pod finds out.
    pub(crate) async fn run(&self) -> Result<Vec<Lack>, Unknown> {
        if !self.in_time(ready::ask(&self.client)).await? {
            return Err(Unknown);
        }
        let lacks = self.rights().await?;
        // Without rights nothing else can be asked.
        if lacks.iter().any(|lack| !lack.shapes.is_empty()) {
            Ok(lacks)
        } else {
            Ok([lacks, self.refused_shapes().await?].concat())
        }
    }

    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Result<T, Unknown> {
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, answer).await;
        answer.map_err(|_| Unknown)
    }

    /// Returns the reason why the server refuses for good, in its words. A refusal that it may lift
    /// later is unknown.
    fn refusal(&self, doing: &str, error: &kube::Error) -> Result<String, Unknown> {
        match classify(&self.target.name, doing, error) {
            // The caller names the worker itself.
            airside_runtime::Error::Refused { message, .. } => {
                let named = format!("{}: ", self.target.name);
                Ok(message.strip_prefix(&named).unwrap_or(&message).to_owned())
            }
            airside_runtime::Error::Unavailable { .. } => Err(Unknown),
        }
    }
}
