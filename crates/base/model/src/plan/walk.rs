//! Every node of a plan in one fixed order, on which the ids of across substeps depend.

use super::{Plan, PlanNode, TypeImage};

impl Plan {
    /// Calls `visit` with this node and then with those below it, images of resource types
    /// included.
    pub fn visit(&self, visit: &mut dyn FnMut(&Plan)) {
        visit(self);
        for inner in self.node.inner() {
            inner.visit(visit);
        }
    }

    /// Visits every node, and may change it.
    pub fn visit_mut(&mut self, visit: &mut dyn FnMut(&mut Plan)) {
        visit(self);
        for inner in self.node.inner_mut() {
            inner.visit_mut(visit);
        }
    }
}

macro_rules! inner {
    ($node:expr, $list:ident, $as:ident, $image:ident) => {
        match $node {
            PlanNode::Do(steps) | PlanNode::Retry(steps) => steps.$list().collect(),
            PlanNode::InParallel(parallel) => parallel.steps.$list().collect(),
            PlanNode::OnSuccess(hook) => vec![hook.step.$as(), hook.on_success.$as()],
            PlanNode::OnFailure(hook) => vec![hook.step.$as(), hook.on_failure.$as()],
            PlanNode::OnAbort(hook) => vec![hook.step.$as(), hook.on_abort.$as()],
            PlanNode::OnError(hook) => vec![hook.step.$as(), hook.on_error.$as()],
            PlanNode::Ensure(hook) => vec![hook.step.$as(), hook.ensure.$as()],
            PlanNode::Try(inner) => vec![inner.step.$as()],
            PlanNode::Timeout(inner) => vec![inner.step.$as()],
            PlanNode::Get(get) => get.image.$image(),
            PlanNode::Put(put) => put.image.$image(),
            PlanNode::Check(check) => check.image.$image(),
            PlanNode::Task(_)
            | PlanNode::Run(_)
            | PlanNode::SetPipeline(_)
            | PlanNode::LoadVar(_)
            | PlanNode::Across(_)
            | PlanNode::ArtifactInput(_)
            | PlanNode::ArtifactOutput(_) => Vec::new(),
        }
    };
}

impl PlanNode {
    fn inner(&self) -> Vec<&Plan> {
        inner!(self, iter, as_ref, plans)
    }

    fn inner_mut(&mut self) -> Vec<&mut Plan> {
        inner!(self, iter_mut, as_mut, plans_mut)
    }
}

impl TypeImage {
    fn plans(&self) -> Vec<&Plan> {
        let plans = [&self.check_plan, &self.get_plan];
        plans
            .into_iter()
            .filter_map(|plan| plan.as_deref())
            .collect()
    }

    fn plans_mut(&mut self) -> Vec<&mut Plan> {
        let plans = [&mut self.check_plan, &mut self.get_plan];
        plans
            .into_iter()
            .filter_map(|plan| plan.as_deref_mut())
            .collect()
    }
}
