//! The plans of checks that are builds of their own: of a resource, a resource type, a prototype.

use airside_model::plan::CheckPlan;
use airside_model::{Plan, PlanId, PlanNode, ResourceType, Version};
use serde_json::{Map, Value};

use super::PlanError;
use super::image::{Images, interval, pulled};
use crate::base_type::Pulled;
use crate::{Config, Resource};

/// The options of a check, given by its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOptions {
    pub from: Option<Version>,
    /// True if the check ignores the interval: a user requested it.
    pub skip_interval: bool,
    /// Nor does it for the types that it is made with.
    pub skip_interval_of_types: bool,
}

/// The plan of a check of a resource.
pub fn check_plan(
    id: PlanId,
    resource: &Resource,
    config: &Config,
    options: CheckOptions,
) -> Result<Plan, PlanError> {
    let check = CheckPlan {
        name: resource.name.clone(),
        type_: resource.type_.clone(),
        source: with_defaults(config, &resource.type_, &resource.source),
        resource: resource.name.clone(),
        interval: interval(&resource.check_every),
        timeout: resource.check_timeout.clone(),
        tags: resource.tags.clone(),
        ..CheckPlan::default()
    };
    let types: Vec<&ResourceType> = config.resource_types.iter().collect();
    finish(id, check, &types, options)
}

/// The plan of a check for a new image of a resource type.
pub fn resource_type_check_plan(
    id: PlanId,
    type_: &ResourceType,
    config: &Config,
    options: CheckOptions,
) -> Result<Plan, PlanError> {
    let check = CheckPlan {
        resource_type: type_.name.clone(),
        ..of_type(type_, config)
    };
    let types = config.resource_types.iter();
    // A type may have the name of the type it is made from.
    let types: Vec<&ResourceType> = types.filter(|other| other.name != type_.name).collect();
    finish(id, check, &types, options)
}

/// The plan of a check for a new image of a prototype.
pub fn prototype_check_plan(
    id: PlanId,
    prototype: &ResourceType,
    config: &Config,
    options: CheckOptions,
) -> Result<Plan, PlanError> {
    let check = CheckPlan {
        prototype: prototype.name.clone(),
        ..of_type(prototype, config)
    };
    let types: Vec<&ResourceType> = config.resource_types.iter().collect();
    finish(id, check, &types, options)
}

fn of_type(type_: &ResourceType, config: &Config) -> CheckPlan {
    CheckPlan {
        name: type_.name.clone(),
        type_: type_.type_.clone(),
        source: with_defaults(config, &type_.type_, &type_.source),
        interval: interval(&type_.check_every),
        tags: type_.tags.clone(),
        ..CheckPlan::default()
    }
}

fn finish(
    id: PlanId,
    check: CheckPlan,
    types: &[&ResourceType],
    options: CheckOptions,
) -> Result<Plan, PlanError> {
    let mut images = Images {
        nodes: &mut 0,
        skip_interval: options.skip_interval && options.skip_interval_of_types,
    };
    let image = images.of(&id, &check.type_, types, &check.tags)?;
    let Pulled { type_, source } = pulled(&check.type_, Some(&check.source), types);
    let check = CheckPlan {
        type_,
        source,
        image,
        from_version: options.from,
        skip_interval: options.skip_interval,
        ..check
    };
    Ok(Plan::new(id, PlanNode::Check(check)))
}

fn with_defaults(
    config: &Config,
    type_: &str,
    source: &Option<Map<String, Value>>,
) -> Map<String, Value> {
    let mut merged = config
        .resource_type(type_)
        .map(|type_| type_.defaults.clone())
        .unwrap_or_default();
    merged.extend(source.clone().unwrap_or_default());
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPELINE: &str = "
resource_types:
- {name: outer, type: inner, source: {a: 1}, defaults: {d: 1, e: 1}}
- {name: inner, type: mock, defaults: {f: 1}, tags: [t]}
prototypes:
- {name: p, type: outer}
resources:
- {name: r, type: outer, source: {e: 2}, check_every: 5m, check_timeout: 10s}
jobs: [{name: j, plan: [{get: r}]}]
";

    fn check(plan: Result<Plan, PlanError>) -> CheckPlan {
        match plan.unwrap().node {
            PlanNode::Check(check) => check,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn checks_know_their_types() {
        let config = crate::load(PIPELINE).unwrap().config;
        let id = || PlanId::new("1");
        let resource = config.resource("r").unwrap();
        let options = CheckOptions {
            from: Some(Version::from([("v", "1")])),
            skip_interval: true,
            skip_interval_of_types: false,
        };
        let plan = check(check_plan(id(), resource, &config, options));
        assert_eq!(
            serde_json::json!(plan.source),
            serde_json::json!({"d": 1, "e": 2})
        );
        assert_eq!((&*plan.interval, &*plan.timeout), ("5m0s", "10s"));
        assert!(plan.skip_interval && plan.from_version.is_some());
        let nested = check(Ok(*plan.image.check_plan.unwrap()));
        assert_eq!(
            (&*nested.resource_type, nested.skip_interval),
            ("outer", false)
        );
        assert_eq!(nested.image.base_type, "mock");
    }

    #[test]
    fn types_and_prototypes_are_checked_like_resources() {
        let config = crate::load(PIPELINE).unwrap().config;
        let id = || PlanId::new("1");
        let options = CheckOptions {
            skip_interval: true,
            skip_interval_of_types: true,
            ..CheckOptions::default()
        };
        let outer = config.resource_type("outer").unwrap();
        let plan = check(resource_type_check_plan(
            id(),
            outer,
            &config,
            options.clone(),
        ));
        assert_eq!((&*plan.resource_type, &*plan.resource), ("outer", ""));
        assert_eq!(
            serde_json::json!(plan.source),
            serde_json::json!({"f": 1, "a": 1})
        );
        let nested = check(Ok(*plan.image.check_plan.unwrap()));
        assert!(nested.skip_interval);
        assert_eq!(nested.tags, ["t"]);
        let prototype = config.prototypes.first().unwrap();
        let plan = check(prototype_check_plan(id(), prototype, &config, options));
        assert_eq!((&*plan.prototype, &*plan.type_), ("p", "outer"));
    }
}
