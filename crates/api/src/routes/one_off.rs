//! Builds without a job: `fly execute` sends their plans.

use std::collections::BTreeSet;

use airside_model::{
    PipelineId, Plan, PlanNode,
    plan::{GetPlan, PutPlan, TypeImage},
};
use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;

use crate::{
    ApiState, OneOffBuild, body,
    error::{ApiError, Result},
    present,
    scope::Scope,
};

/// Plans carry whole task configurations, and nothing larger.
const LARGEST: usize = 16 << 20;

/// A plan of more nodes than this is a mistake.
const MOST_NODES: usize = 10_000;

pub(super) async fn of_team(
    State(state): State<ApiState>,
    scope: Scope,
    body: Body,
) -> Result<Response> {
    create(&state, &scope, None, body).await
}

/// One that knows the pipeline's variables.
pub(super) async fn of_pipeline(
    State(state): State<ApiState>,
    scope: Scope,
    body: Body,
) -> Result<Response> {
    let pipeline = scope.active_pipeline()?.id;
    create(&state, &scope, Some(pipeline), body).await
}

async fn create(
    state: &ApiState,
    scope: &Scope,
    pipeline: Option<PipelineId>,
    body: Body,
) -> Result<Response> {
    let team = scope.team()?.id;
    let text = body::text(body, "the plan", LARGEST).await?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| ApiError::BadRequest(format!("the plan cannot be read: {error}")))?;
    check(&plan).map_err(ApiError::BadRequest)?;
    let build = OneOffBuild {
        team,
        pipeline,
        plan,
        created_by: scope.caller()?.display_user_id(),
    };
    let build = state.builds.start(build).await?;
    let shown = Json(present::build::build(&build));
    Ok((StatusCode::CREATED, shown).into_response())
}

/// What a plan from outside must keep to: ids that tell its nodes apart, and no node that acts for the
/// server rather than for the team.
fn check(plan: &Plan) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let mut left = vec![(plan, false)];
    while let Some((plan, of_image)) = left.pop() {
        let id = plan.id.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
        if id.is_empty() || id.len() > 200 || !id.chars().all(plain) {
            return Err(format!("`{id}` is no id of a plan"));
        }
        if !ids.insert(id) {
            return Err(format!("two nodes of the plan have the id `{id}`"));
        }
        if ids.len() > MOST_NODES {
            return Err(format!("the plan has more than {MOST_NODES} nodes"));
        }
        let node = &plan.node;
        let refused = match node {
            PlanNode::Check(_) => !of_image,
            PlanNode::SetPipeline(_) => true,
            _ => false,
        };
        if refused {
            return Err(format!("a one-off build may not `{}`", node.name()));
        }
        left.extend(below(node).into_iter().map(|plan| (plan, false)));
        left.extend(image(node).into_iter().map(|plan| (plan, true)));
    }
    Ok(())
}

/// The nodes right below one. What `across` makes of its template is made by the engine.
fn below(node: &PlanNode) -> Vec<&Plan> {
    match node {
        PlanNode::Do(steps) | PlanNode::Retry(steps) => steps.iter().collect(),
        PlanNode::InParallel(parallel) => parallel.steps.iter().collect(),
        PlanNode::OnSuccess(hook) => vec![&hook.step, &hook.on_success],
        PlanNode::OnFailure(hook) => vec![&hook.step, &hook.on_failure],
        PlanNode::OnAbort(hook) => vec![&hook.step, &hook.on_abort],
        PlanNode::OnError(hook) => vec![&hook.step, &hook.on_error],
        PlanNode::Ensure(hook) => vec![&hook.step, &hook.ensure],
        PlanNode::Try(inner) => vec![&inner.step],
        PlanNode::Timeout(inner) => vec![&inner.step],
        _ => Vec::new(),
    }
}

/// The plans that fetch the image of a resource type.
fn image(node: &PlanNode) -> Vec<&Plan> {
    let image: &TypeImage = match node {
        PlanNode::Get(GetPlan { image, .. }) | PlanNode::Put(PutPlan { image, .. }) => image,
        PlanNode::Check(check) => &check.image,
        _ => return Vec::new(),
    };
    let plans = [&image.check_plan, &image.get_plan];
    plans.into_iter().flatten().map(|plan| &**plan).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn verdict(plan: Value) -> Result<(), String> {
        check(&serde_json::from_value(plan).unwrap())
    }

    fn task(id: &str) -> Value {
        json!({"id": id, "task": {"name": "one-off"}})
    }

    #[test]
    fn plans_of_fly_are_taken() {
        let image = json!({"base_type": "mock",
            "check_plan": {"id": "2/image-check", "check": {"name": "t", "type": "mock"}},
            "get_plan": {"id": "2/image-get", "get": {"name": "t", "type": "mock"}}});
        let get = json!({"id": "2", "get": {"name": "i", "type": "t", "image": image}});
        let inputs = json!({"id": "3", "in_parallel": {"steps": [get]}});
        let nothing = json!({"id": "4", "in_parallel": {"steps": null}});
        let plan = json!({"id": "6", "ensure": {
            "step": {"id": "5", "do": [inputs, nothing, task("1")]},
            "ensure": {"id": "7", "artifact_output": {"name": "o"}}}});
        assert_eq!(verdict(plan), Ok(()));
    }

    #[test]
    fn others_are_refused() {
        let check = json!({"id": "1", "check": {"name": "r", "type": "mock"}});
        let set = json!({"id": "1", "set_pipeline": {"name": "p", "file": "f"}});
        for (plan, words) in [
            (task(""), "no id"),
            (task("a b"), "no id"),
            (
                json!({"id": "2", "do": [task("1"), task("1")]}),
                "two nodes",
            ),
            (
                json!({"id": "2", "try": {"step": check}}),
                "may not `check`",
            ),
            (json!({"id": "2", "do": [set]}), "may not `set_pipeline`"),
        ] {
            let error = verdict(plan).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
