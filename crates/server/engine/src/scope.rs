//! Artifacts and variables that later steps see, and the surroundings that a node runs in.

use std::{collections::BTreeMap, sync::Arc};

use airside_model::{BuildStatus, VolumeId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{outcome::Outcome, reference::Reference, stop::Stop};

/// A variable that a step added to the build.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LocalVar {
    pub(crate) value: Value,
    pub(crate) secret: bool,
}

/// An artifact as later steps find it.
#[derive(Clone)]
pub(crate) struct Artifact {
    pub(crate) volume: VolumeId,
    /// The image that the volume only describes: it has none of its files.
    pub(crate) reference: Option<Arc<Reference>>,
}

/// Artifacts and variables. An inner scope sees those of the outer ones; what is added to it does
/// not get out.
#[derive(Default)]
pub(crate) struct BuildScope {
    artifacts: Mutex<BTreeMap<String, Artifact>>,
    vars: Arc<airside_vars::VarScope>,
    outer: Option<Arc<BuildScope>>,
}

impl BuildScope {
    pub(crate) fn inner(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            artifacts: Mutex::default(),
            vars: self.vars.inner(),
            outer: Some(self.clone()),
        })
    }

    pub(crate) fn artifact(&self, name: &str) -> Option<Artifact> {
        let own = self.artifacts.lock().get(name).cloned();
        own.or_else(|| self.outer.as_ref()?.artifact(name))
    }

    pub(crate) fn artifacts(&self) -> BTreeMap<String, Artifact> {
        let outer = self.outer.as_ref().map(|outer| outer.artifacts());
        let mut all = outer.unwrap_or_default();
        all.extend(self.artifacts.lock().clone());
        all
    }

    pub(crate) fn vars(&self) -> &airside_vars::VarScope {
        &self.vars
    }

    pub(crate) fn add_var(&self, name: &str, var: &LocalVar) {
        self.vars.add(name, var.value.clone());
    }

    /// Takes in what a step has added.
    pub(crate) fn take_in(&self, outcome: &Outcome) {
        let references = &outcome.hidden.references;
        let artifacts = outcome.artifacts.iter().map(|(name, volume)| {
            let reference = references.get(name).cloned().map(Arc::new);
            let volume = volume.clone();
            (name.clone(), Artifact { volume, reference })
        });
        self.artifacts.lock().extend(artifacts);
        for (name, var) in &outcome.hidden.vars {
            self.add_var(name, var);
        }
    }
}

/// The surroundings of a node.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) stop: Stop,
    pub(crate) scope: Arc<BuildScope>,
    /// Number of this attempt in each retry around it, outermost first.
    pub(crate) attempts: Vec<u32>,
    /// Build status that the hook around it is for.
    pub(crate) status: Option<BuildStatus>,
    /// The number of combinations that the `across` steps around it have.
    pub(crate) combinations: u64,
}

impl Context {
    pub(crate) fn of_build(stop: Stop) -> Self {
        Self {
            stop,
            scope: Arc::default(),
            attempts: Vec::new(),
            status: None,
            combinations: 1,
        }
    }

    pub(crate) fn with_stop(&self, stop: Stop) -> Self {
        Self {
            stop,
            ..self.clone()
        }
    }

    pub(crate) fn with_scope(&self, scope: Arc<BuildScope>) -> Self {
        Self {
            scope,
            ..self.clone()
        }
    }

    pub(crate) fn with_attempt(&self, number: u32) -> Self {
        let mut attempts = self.attempts.clone();
        attempts.push(number);
        Self {
            attempts,
            ..self.clone()
        }
    }

    pub(crate) fn with_combinations(&self, count: u64) -> Self {
        Self {
            combinations: self.combinations.saturating_mul(count),
            ..self.clone()
        }
    }

    pub(crate) fn with_status(&self, status: Option<BuildStatus>) -> Self {
        Self {
            status: status.or(self.status),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::Status;

    fn outcome(artifact: &str, volume: &str) -> Outcome {
        let mut outcome = Outcome::of(Status::Succeeded);
        outcome
            .artifacts
            .insert(artifact.to_owned(), VolumeId::new(volume));
        let var = LocalVar {
            value: json!(volume),
            secret: false,
        };
        outcome.hidden.vars.insert(artifact.to_owned(), var);
        outcome
    }

    #[test]
    fn an_inner_scope_sees_the_outer_one_and_keeps_its_own() {
        let outer = Arc::new(BuildScope::default());
        outer.take_in(&outcome("a", "v-1"));
        outer.take_in(&outcome("b", "v-2"));
        let inner = outer.inner();
        inner.take_in(&outcome("b", "v-3"));
        let volume = |scope: &BuildScope, name| scope.artifact(name).map(|found| found.volume.0);
        assert_eq!(volume(&inner, "a").as_deref(), Some("v-1"));
        assert_eq!(volume(&inner, "b").as_deref(), Some("v-3"));
        assert_eq!(volume(&outer, "b").as_deref(), Some("v-2"));
        assert_eq!(inner.artifacts().len(), 2);
        let local = |scope: &BuildScope, name: &str| {
            use airside_vars::Lookup;
            let reference = airside_vars::Reference::parse(&format!(".:{name}")).unwrap();
            scope.vars().get(&reference).unwrap()
        };
        assert_eq!(local(&inner, "b"), Some(json!("v-3")));
        assert_eq!(local(&outer, "b"), Some(json!("v-2")));
        assert_eq!(local(&inner, "c"), None);
    }
}
