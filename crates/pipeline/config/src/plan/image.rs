//! The plans that fetch an image: that of a resource type, or a task's own.

use airside_model::plan::{CheckPlan, GetPlan, TypeImage};
use airside_model::task::ImageResource;
use airside_model::{Plan, PlanId, PlanNode, ResourceType, go_duration};

use serde_json::{Map, Value};

use super::{MAX_NODES, PlanError, Planner};
use crate::base_type::{Pulled, registry_type};
use crate::resource::CheckEvery;

/// Concourse checks for new images this often if the type does not say.
const DEFAULT_INTERVAL: &str = "1m0s";

impl Planner<'_> {
    /// Returns the plan for the image of a type. A type that the pipeline does not bring is the
    /// worker's own; otherwise it is fetched by plans of its own, whose ids are below that of the
    /// step.
    pub(crate) fn image(
        &mut self,
        step: &PlanId,
        type_: &str,
        step_tags: &[String],
        skip_interval: bool,
    ) -> Result<TypeImage, PlanError> {
        let types: Vec<&ResourceType> = self.config.resource_types.iter().collect();
        let mut images = Images {
            nodes: &mut self.nodes,
            skip_interval,
        };
        images.of(step, type_, &types, step_tags)
    }
}

/// The plans that fetch the image a task asks for: one that looks for its version, unless that is
/// given, and one that gets it.
pub fn image_plans(
    step: &PlanId,
    image: &ImageResource,
    types: &[ResourceType],
    step_tags: &[String],
    skip_interval: bool,
) -> Result<(Option<Plan>, Plan), PlanError> {
    let types: Vec<&ResourceType> = types.iter().collect();
    let tags = match image.tags.as_slice() {
        [] => step_tags,
        own => own,
    };
    let mut images = Images {
        nodes: &mut 0,
        skip_interval,
    };
    let Pulled { type_, source } = pulled(&image.type_, image.source.as_ref(), &types);
    let check_id = PlanId::new(format!("{step}/image-check"));
    let check = match image.version {
        Some(_) => None,
        None => Some(CheckPlan {
            name: image.name.clone(),
            type_: type_.clone(),
            source: source.clone(),
            image: images.of(&check_id, &image.type_, &types, tags)?,
            interval: DEFAULT_INTERVAL.to_owned(),
            skip_interval,
            tags: tags.to_vec(),
            ..CheckPlan::default()
        }),
    };
    let get_id = PlanId::new(format!("{step}/image-get"));
    let get = GetPlan {
        name: image.name.clone(),
        type_,
        source,
        image: images.of(&get_id, &image.type_, &types, tags)?,
        params: image.params.clone().unwrap_or_default(),
        version: image.version.clone(),
        version_from: check.is_some().then(|| check_id.clone()),
        tags: tags.to_vec(),
        ..GetPlan::default()
    };
    let check = check.map(|check| Plan::new(check_id, PlanNode::Check(check)));
    Ok((check, Plan::new(get_id, PlanNode::Get(get))))
}

pub(super) struct Images<'a> {
    /// Counted, as types made from each other double with each level.
    pub(super) nodes: &'a mut u64,
    pub(super) skip_interval: bool,
}

impl Images<'_> {
    /// A type may have the name of the type it is made from, so each is left out below itself.
    pub(super) fn of(
        &mut self,
        step: &PlanId,
        type_: &str,
        types: &[&ResourceType],
        step_tags: &[String],
    ) -> Result<TypeImage, PlanError> {
        let Some(parent) = types.iter().find(|parent| parent.name == type_) else {
            return Ok(TypeImage {
                base_type: registry_type(type_).unwrap_or(type_).to_owned(),
                ..TypeImage::default()
            });
        };
        *self.nodes += 1;
        if *self.nodes > MAX_NODES {
            return Err(PlanError::TooLarge);
        }
        let types: Vec<&ResourceType> = types
            .iter()
            .copied()
            .filter(|other| other.name != parent.name)
            .collect();
        let tags = match parent.tags.as_slice() {
            [] => step_tags,
            own => own,
        };
        let pulled = pulled(&parent.type_, parent.source.as_ref(), &types);
        let check_id = PlanId::new(format!("{step}/image-check"));
        let check = CheckPlan {
            name: parent.name.clone(),
            type_: pulled.type_.clone(),
            source: pulled.source.clone(),
            image: self.of(&check_id, &parent.type_, &types, tags)?,
            resource_type: type_.to_owned(),
            interval: interval(&parent.check_every),
            skip_interval: self.skip_interval,
            tags: tags.to_vec(),
            ..CheckPlan::default()
        };
        let get_id = PlanId::new(format!("{step}/image-get"));
        let image = self.of(&get_id, &parent.type_, &types, tags)?;
        let base_type = image.base_type.clone();
        let get = GetPlan {
            name: parent.name.clone(),
            type_: pulled.type_,
            source: pulled.source,
            image,
            params: parent.params.clone(),
            version_from: Some(check_id.clone()),
            tags: tags.to_vec(),
            ..GetPlan::default()
        };
        Ok(TypeImage {
            check_plan: Some(Box::new(Plan::new(check_id, PlanNode::Check(check)))),
            get_plan: Some(Box::new(Plan::new(get_id, PlanNode::Get(get)))),
            base_type,
            privileged: parent.privileged,
        })
    }
}

/// Returns the type and source to check or get. Only a type that none of `types` makes can mean
/// another.
pub(crate) fn pulled(
    type_: &str,
    source: Option<&Map<String, Value>>,
    types: &[&ResourceType],
) -> Pulled {
    let source = source.cloned().unwrap_or_default();
    if types.iter().any(|own| own.name == type_) {
        Pulled {
            type_: type_.to_owned(),
            source,
        }
    } else {
        Pulled::new(type_, source)
    }
}

pub(super) fn interval(check_every: &str) -> String {
    match CheckEvery::parse(check_every) {
        Some(CheckEvery::Never) => "never".to_owned(),
        Some(CheckEvery::Interval(interval)) => go_duration(interval),
        None => DEFAULT_INTERVAL.to_owned(),
    }
}
