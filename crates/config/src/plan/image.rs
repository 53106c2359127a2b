//! The plans that fetch the image of a resource type.

use airside_model::plan::{CheckPlan, GetPlan, TypeImage};
use airside_model::{Plan, PlanId, PlanNode, ResourceType, go_duration};

use super::{PlanError, Planner};
use crate::resource::CheckEvery;

/// Concourse checks for new images this often if the type does not say.
const DEFAULT_INTERVAL: &str = "1m0s";

impl Planner<'_> {
    /// Where the image of a type comes from. A type that the pipeline does not bring is the worker's
    /// own; otherwise it is fetched by plans of its own, whose ids are below that of the step.
    pub(crate) fn image(
        &mut self,
        step: &PlanId,
        type_: &str,
        step_tags: &[String],
        skip_interval: bool,
    ) -> Result<TypeImage, PlanError> {
        let types: Vec<&ResourceType> = self.config.resource_types.iter().collect();
        self.image_of(step, type_, &types, step_tags, skip_interval)
    }

    /// A type may have the name of the type it is made from, so each is left out below itself.
    fn image_of(
        &mut self,
        step: &PlanId,
        type_: &str,
        types: &[&ResourceType],
        step_tags: &[String],
        skip_interval: bool,
    ) -> Result<TypeImage, PlanError> {
        let Some(parent) = types.iter().find(|parent| parent.name == type_) else {
            return Ok(TypeImage {
                base_type: type_.to_owned(),
                ..TypeImage::default()
            });
        };
        self.count()?;
        let types: Vec<&ResourceType> = types
            .iter()
            .copied()
            .filter(|other| other.name != parent.name)
            .collect();
        let tags = match parent.tags.as_slice() {
            [] => step_tags,
            own => own,
        };
        let source = parent.source.clone().unwrap_or_default();
        let check_id = PlanId::new(format!("{step}/image-check"));
        let check = CheckPlan {
            name: parent.name.clone(),
            type_: parent.type_.clone(),
            source: source.clone(),
            image: self.image_of(&check_id, &parent.type_, &types, tags, skip_interval)?,
            resource_type: type_.to_owned(),
            interval: interval(&parent.check_every),
            skip_interval,
            tags: tags.to_vec(),
            ..CheckPlan::default()
        };
        let get_id = PlanId::new(format!("{step}/image-get"));
        let image = self.image_of(&get_id, &parent.type_, &types, tags, skip_interval)?;
        let base_type = image.base_type.clone();
        let get = GetPlan {
            name: parent.name.clone(),
            type_: parent.type_.clone(),
            source,
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

fn interval(check_every: &str) -> String {
    match CheckEvery::parse(check_every) {
        Some(CheckEvery::Never) => "never".to_owned(),
        Some(CheckEvery::Interval(interval)) => go_duration(interval),
        None => DEFAULT_INTERVAL.to_owned(),
    }
}
