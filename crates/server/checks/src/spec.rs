//! A pipeline's configuration of its checks, ready to use.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_config::{Config, parse_duration};
use airside_model::{JobId, ResourceId, Version};
use airside_schedule::{
    Graph, Moment, Names,
    checks::{CheckFacts, CheckPolicy, CheckRule, Interval},
    graph::{self, Ids},
};
use airside_store::{Checkable, Pipeline};
use serde_json::{Map, Value};

use crate::check_queue::KnownResource;

/// A pipeline whose resources are checked.
pub(crate) struct Home {
    /// The pipeline without its configuration.
    pub(crate) pipeline: Pipeline,
    /// The configuration without its jobs.
    pub(crate) config: Config,
}

/// A resource that is checked.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) home: Arc<Home>,
    pub(crate) id: ResourceId,
    pub(crate) name: String,
    /// True if its type needs no image.
    pub(crate) native: bool,
    pub(crate) has_variables: bool,
    pub(crate) timeout: Duration,
    pub(crate) rule: CheckRule,
    /// The version that it is pinned to.
    pub(crate) pin: Option<Version>,
}

impl Spec {
    /// Returns the interval of its periodic checks, if it has any.
    pub(crate) fn interval(&self, policy: &CheckPolicy) -> Option<Duration> {
        match policy.of_resource(self.rule) {
            Interval::Never => None,
            Interval::Every(interval) => Some(interval),
        }
    }

    pub(crate) fn definition(&self) -> Option<&airside_config::Resource> {
        self.home.config.resource(&self.name)
    }

    pub(crate) fn source(&self) -> Map<String, Value> {
        let source = self
            .definition()
            .and_then(|definition| definition.source.clone());
        source.unwrap_or_default()
    }
}

/// Returns the resources of a pipeline. Those that the configuration no longer has are left out.
pub(crate) fn read(
    mut pipeline: Pipeline,
    mut config: Config,
    checkables: Vec<Checkable>,
    timeout: Duration,
) -> Vec<KnownResource<Spec>> {
    let ids = Ids {
        // The ids of jobs do not matter for checks.
        jobs: (1..)
            .zip(&config.jobs)
            .map(|(id, job)| (job.name.clone(), JobId(id)))
            .collect(),
        resources: checkables
            .iter()
            .map(|checkable| (checkable.name.clone(), checkable.id))
            .collect(),
        pins: checkables
            .iter()
            .filter_map(|checkable| Some((checkable.id, checkable.pin.clone()?)))
            .collect(),
    };
    // The configuration was just replaced: the event of that is on its way.
    let Ok(graph) = Graph::read(&config, &ids, &mut Names::default()) else {
        return Vec::new();
    };
    // Kept as long as the pipeline is checked, so without what checks do not need.
    config.jobs = Vec::new();
    config.resolve_base_types();
    pipeline.config = Value::Null;
    let home = Arc::new(Home { pipeline, config });
    let mut by_id: HashMap<ResourceId, Checkable> = checkables
        .into_iter()
        .map(|checkable| (checkable.id, checkable))
        .collect();
    let known = graph.resources().filter_map(|resource| {
        let checkable = by_id.remove(&resource.id)?;
        Some(KnownResource {
            facts: facts(&checkable),
            spec: spec(&home, &checkable, resource, timeout)?,
            resource: resource.clone(),
        })
    });
    known.collect()
}

/// Returns the facts that the store has of a resource's checks.
pub(crate) fn facts(checkable: &Checkable) -> CheckFacts {
    CheckFacts {
        last_end: checkable.last.map(|last| Moment(last.ended_at.0)),
        failures: checkable.last.map_or(0, |last| last.failures),
        has_versions: checkable.has_versions,
        has_pinned_version: checkable.has_pinned_version,
    }
}

fn spec(
    home: &Arc<Home>,
    checkable: &Checkable,
    resource: &graph::Resource,
    timeout: Duration,
) -> Option<Spec> {
    let definition = home.config.resource(&checkable.name)?;
    let type_ = &definition.type_;
    let source = Value::Object(definition.source.clone().unwrap_or_default());
    Some(Spec {
        home: home.clone(),
        id: checkable.id,
        name: checkable.name.clone(),
        native: home.config.resource_type(type_).is_none()
            && airside_resource_types::is_native(type_),
        has_variables: !airside_vars::names_in(&source).is_empty(),
        timeout: parse_duration(&definition.check_timeout).unwrap_or(timeout),
        rule: resource.check,
        pin: resource.pin.clone(),
    })
}
