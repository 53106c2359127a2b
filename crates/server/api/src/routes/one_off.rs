//! Builds without a job: `fly execute` sends their plans.

use std::collections::BTreeSet;

use airside_model::{
    PipelineId, Plan, PlanNode,
    plan::{AcrossPlan, GetPlan, MOST_COMBINATIONS, PutPlan, TypeImage},
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
    scope::RequestScope,
};

/// Plans carry whole task configurations, and nothing larger.
const LARGEST: usize = 16 << 20;

/// A plan of more nodes than this is a mistake.
const MOST_NODES: u64 = 10_000;

pub(super) async fn of_team(
    State(state): State<ApiState>,
    scope: RequestScope,
    body: Body,
) -> Result<Response> {
    create(&state, &scope, None, body).await
}

/// One that knows the pipeline's variables.
pub(super) async fn of_pipeline(
    State(state): State<ApiState>,
    scope: RequestScope,
    body: Body,
) -> Result<Response> {
    let pipeline = scope.active_pipeline()?.id;
    create(&state, &scope, Some(pipeline), body).await
}

async fn create(
    state: &ApiState,
    scope: &RequestScope,
    pipeline: Option<PipelineId>,
    body: Body,
) -> Result<Response> {
    let team = scope.team()?.id;
    let text = body::text(body, "the plan", LARGEST).await?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| {
        ApiError::BadRequest(format!(
            "the plan cannot be read: {}",
            airside_model::chain(&error)
        ))
    })?;
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

/// Checks a plan from outside: its ids must tell its nodes apart, and no node may act for the
/// server rather than for the team.
fn check(plan: &Plan) -> Result<(), String> {
    Checked::default().check(plan, 1)
}

/// The nodes of a plan that were seen so far.
#[derive(Default)]
struct Checked {
    ids: BTreeSet<String>,
    /// The number of nodes that a build of it will have.
    nodes: u64,
}

impl Checked {
    /// Checks a plan that stands there so many `times`, once for each combination of the `across`
    /// around it.
    fn check(&mut self, plan: &Plan, times: u64) -> Result<(), String> {
        let mut left = vec![(plan, false)];
        while let Some((plan, of_image)) = left.pop() {
            self.count(plan.id.as_str(), times)?;
            let node = &plan.node;
            let refused = match node {
                PlanNode::Check(_) => !of_image,
                PlanNode::SetPipeline(_) => true,
                _ => false,
            };
            if refused {
                return Err(format!("a one-off build may not `{}`", node.name()));
            }
            if let PlanNode::Across(across) = node {
                self.check_template(across, times)?;
            }
            left.extend(below(node).into_iter().map(|plan| (plan, false)));
            left.extend(image(node).into_iter().map(|plan| (plan, true)));
        }
        Ok(())
    }

    fn count(&mut self, id: &str, times: u64) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
        if id.is_empty() || id.len() > 200 || !id.chars().all(plain) {
            return Err(format!("`{id}` is not an id of a plan"));
        }
        if !self.ids.insert(id.to_owned()) {
            return Err(format!("two nodes of the plan have the id `{id}`"));
        }
        self.nodes = self.nodes.saturating_add(times);
        if self.nodes > MOST_NODES {
            return Err(format!("the plan has more than {MOST_NODES} nodes"));
        }
        Ok(())
    }

    /// Checks what `across` makes substeps of. Where its values are not known yet, the engine
    /// counts them.
    fn check_template(&mut self, across: &AcrossPlan, times: u64) -> Result<(), String> {
        let lists = across.vars.iter().filter_map(|var| var.values.as_array());
        let combinations = lists.fold(times, |times, list| times.saturating_mul(list.len() as u64));
        if combinations > MOST_COMBINATIONS {
            let words = "combinations of values at most; give its variables fewer values";
            return Err(format!("`across` may have {MOST_COMBINATIONS} {words}"));
        }
        let template: Plan = serde_json::from_str(&across.substep_template).map_err(|error| {
            format!(
                "the template of `across` cannot be read: {}",
                airside_model::chain(&error)
            )
        })?;
        self.check(&template, combinations)
    }
}

/// The nodes right below one, but for the template of `across`.
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
            (task(""), "not an id"),
            (task("a b"), "not an id"),
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

    /// An `across` over so many values as `lengths` say.
    fn across(id: &str, lengths: &[usize], template: &Value) -> Value {
        let vars = lengths.iter().enumerate();
        let vars: Vec<Value> = vars
            .map(|(n, length)| json!({"name": format!("v{n}"), "values": vec![1; *length]}))
            .collect();
        json!({"id": id, "across": {"vars": vars, "substep_template": template.to_string()}})
    }

    #[test]
    fn hostile_templates_of_across_are_looked_into() {
        let set = json!({"id": "1", "set_pipeline": {"name": "p", "file": "f"}});
        let two = json!({"id": "3", "do": [task("1"), task("2")]});
        let nested = across("2", &[101], &task("1"));
        for (plan, words) in [
            (across("2", &[1], &set), "may not `set_pipeline`"),
            (
                across("4", &[1], &across("2", &[1], &set)),
                "may not `set_pipeline`",
            ),
            (across("2", &[60, 60, 30], &task("1")), "10000 combinations"),
            (
                across("2", &[1 << 12; 40], &task("1")),
                "10000 combinations",
            ),
            (across("3", &[100], &nested), "10000 combinations"),
            (across("4", &[5_000], &two), "more than 10000 nodes"),
            (across("1", &[1], &task("1")), "two nodes"),
            (across("1", &[1], &json!("((.:v))")), "cannot be read"),
        ] {
            let error = verdict(plan).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(verdict(across("2", &[100, 50], &task("1"))), Ok(()));
        assert_eq!(verdict(across("2", &[0, 50], &task("1"))), Ok(()));
    }
}
