//! The public form of a plan, as the API shows it: names and kinds, never sources or params.

use serde_json::{Map, Value, json};

use crate::plan::{InParallelPlan, SetPipelinePlan, TypeImage};
use crate::{Plan, PlanNode};

/// The plan as `fly` and the web page may see it.
pub fn public_plan(plan: &Plan) -> Value {
    let mut shown = Map::new();
    shown.insert("id".into(), json!(plan.id));
    shown.insert(plan.node.name().into(), public_node(&plan.node));
    Value::Object(shown)
}

fn public_node(node: &PlanNode) -> Value {
    match node {
        PlanNode::Get(get) => {
            let mut shown = named(&get.name, &get.type_, &get.resource);
            if let Some(version) = &get.version {
                shown.insert("version".into(), json!(version));
            }
            with_image(shown, &get.image)
        }
        PlanNode::Put(put) => with_image(named(&put.name, &put.type_, &put.resource), &put.image),
        PlanNode::Check(check) => with_image(named(&check.name, &check.type_, ""), &check.image),
        PlanNode::Task(task) => {
            json!({"name": task.name, "privileged": task.privileged, "hermetic": task.hermetic})
        }
        PlanNode::Run(run) => {
            json!({"message": run.message, "type": run.type_, "privileged": run.privileged})
        }
        PlanNode::SetPipeline(set) => public_set_pipeline(set),
        PlanNode::LoadVar(load) => json!({"name": load.name}),
        PlanNode::Do(steps) | PlanNode::Retry(steps) => steps.iter().map(public_plan).collect(),
        PlanNode::InParallel(parallel) => public_in_parallel(parallel),
        PlanNode::Across(across) => {
            let vars = across.vars.iter().map(|var| json!({"name": var.name}));
            let mut shown = Map::new();
            shown.insert("vars".into(), vars.collect());
            flag(&mut shown, "fail_fast", across.fail_fast);
            Value::Object(shown)
        }
        PlanNode::OnSuccess(hook) => hooked(&hook.step, "on_success", &hook.on_success),
        PlanNode::OnFailure(hook) => hooked(&hook.step, "on_failure", &hook.on_failure),
        PlanNode::OnAbort(hook) => hooked(&hook.step, "on_abort", &hook.on_abort),
        PlanNode::OnError(hook) => hooked(&hook.step, "on_error", &hook.on_error),
        PlanNode::Ensure(hook) => hooked(&hook.step, "ensure", &hook.ensure),
        PlanNode::Try(inner) => json!({"step": public_plan(&inner.step)}),
        PlanNode::Timeout(inner) => {
            json!({"step": public_plan(&inner.step), "duration": inner.duration})
        }
        PlanNode::ArtifactInput(input) => json!(input),
        PlanNode::ArtifactOutput(output) => json!(output),
    }
}

fn public_in_parallel(parallel: &InParallelPlan) -> Value {
    let mut shown = Map::new();
    let steps = parallel.steps.iter().map(public_plan);
    shown.insert("steps".into(), steps.collect());
    if let Some(limit) = parallel.limit {
        shown.insert("limit".into(), json!(limit));
    }
    flag(&mut shown, "fail_fast", parallel.fail_fast);
    Value::Object(shown)
}

/// No instance variables are null, as Concourse writes it.
fn public_set_pipeline(set: &SetPipelinePlan) -> Value {
    let instance_vars = (!set.instance_vars.is_empty()).then_some(&set.instance_vars);
    json!({"name": set.name, "team": set.team, "instance_vars": instance_vars})
}

fn hooked(step: &Plan, key: &str, hook: &Plan) -> Value {
    json!({"step": public_plan(step), key: public_plan(hook)})
}

fn named(name: &str, type_: &str, resource: &str) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("name".into(), json!(name));
    shown.insert("type".into(), json!(type_));
    if !resource.is_empty() {
        shown.insert("resource".into(), json!(resource));
    }
    shown
}

fn with_image(mut shown: Map<String, Value>, image: &TypeImage) -> Value {
    for (key, plan) in [
        ("image_get_plan", &image.get_plan),
        ("image_check_plan", &image.check_plan),
    ] {
        if let Some(plan) = plan {
            shown.insert(key.into(), public_plan(plan));
        }
    }
    Value::Object(shown)
}

fn flag(shown: &mut Map<String, Value>, key: &str, set: bool) {
    if set {
        shown.insert(key.into(), json!(true));
    }
}
