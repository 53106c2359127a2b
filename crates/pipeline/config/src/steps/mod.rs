//! Steps. Each kind has its own file: its fields, how they are read, its rules, its plan.
//!
//! A step is a core, which says what to do, and modifiers around it (`modifiers`). To add a kind: a
//! file here, a variant of [`Core`], and its key in `detect`.

pub(crate) mod across;
mod detect;
pub(crate) mod do_step;
pub(crate) mod get;
pub(crate) mod in_parallel;
mod json;
pub(crate) mod load_var;
pub(crate) mod modifiers;
pub(crate) mod put;
pub(crate) mod run;
pub(crate) mod set_pipeline;
pub(crate) mod task;
pub(crate) mod try_step;

use airside_model::Plan;
use airside_yaml::Node;
use serde::Serialize;

pub(crate) use detect::{CORES, CoreShape};

use crate::plan::{PlanError, Planner};
use crate::reader::Reader;
use crate::validate::Checker;
use crate::{
    DoStep, GetStep, InParallelStep, LoadVarStep, Modifiers, PutStep, RunStep, SetPipelineStep,
    TaskStep, TryStep,
};

/// A step of a plan. In JSON core and modifiers are one map, and a key decides the kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    #[serde(flatten)]
    pub core: Core,
    #[serde(flatten)]
    pub modifiers: Modifiers,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Core {
    Get(GetStep),
    Put(PutStep),
    Task(Box<TaskStep>),
    Run(RunStep),
    SetPipeline(SetPipelineStep),
    LoadVar(LoadVarStep),
    Try(TryStep),
    Do(DoStep),
    InParallel(InParallelStep),
}

impl Default for Core {
    fn default() -> Self {
        Self::Do(DoStep::default())
    }
}

/// A step that runs something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaf<'a> {
    Get(&'a GetStep),
    Put(&'a PutStep),
    Task(&'a TaskStep),
    Run(&'a RunStep),
    SetPipeline(&'a SetPipelineStep),
    LoadVar(&'a LoadVarStep),
}

impl Leaf<'_> {
    /// The resource that it gets or puts.
    pub fn resource(&self) -> Option<&str> {
        match self {
            Self::Get(step) => Some(step.resource()),
            Self::Put(step) => Some(step.resource()),
            Self::Task(_) | Self::Run(_) | Self::SetPipeline(_) | Self::LoadVar(_) => None,
        }
    }
}

impl Step {
    /// Calls `visit` with everything in this step that runs something, in order, hooks last.
    pub fn visit_leaves<'a>(&'a self, visit: &mut impl FnMut(Leaf<'a>)) {
        self.visit_tagged_leaves(&[], &mut |leaf, _| visit(leaf));
    }

    /// Visits leaves as [`Step::visit_leaves`] does, each with the tags of a leaf that has none of
    /// its own; `tags` are those around this step.
    pub(crate) fn visit_tagged_leaves<'a>(
        &'a self,
        tags: &'a [String],
        visit: &mut impl FnMut(Leaf<'a>, &'a [String]),
    ) {
        self.core.visit_tagged_leaves(tags, visit);
        for (_, hook) in self.modifiers.hooks() {
            hook.visit_tagged_leaves(tags, visit);
        }
    }

    pub(crate) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        self.modifiers.check(&self.core, path, checker);
    }

    pub(crate) fn plan<'a>(&'a self, planner: &mut Planner<'a>) -> Result<Plan, PlanError> {
        self.modifiers.plan(&self.core, planner)
    }

    /// Returns the number of nodes of its plan, without the plans that fetch images.
    pub(crate) fn size(&self) -> u64 {
        self.modifiers.size(self.core.size())
    }

    /// Returns the number of JSON levels that its plan adds around the leaves.
    pub(crate) fn depth(&self) -> usize {
        self.modifiers.depth(self.core.depth())
    }

    /// Returns how deep `across` is nested in `across`.
    pub(crate) fn across_depth(&self) -> usize {
        let inside = self.core.inner().iter().map(Self::across_depth).max();
        let core = inside.unwrap_or(0) + usize::from(self.modifiers.across.is_some());
        let hooks = self.modifiers.hooks().map(|(_, hook)| hook.across_depth());
        hooks.max().unwrap_or(0).max(core)
    }
}

impl Core {
    /// The steps inside.
    fn inner(&self) -> &[Step] {
        match self {
            Self::Try(step) => std::slice::from_ref(&*step.step),
            Self::Do(step) => &step.steps,
            Self::InParallel(step) => &step.in_parallel.steps,
            Self::Get(_)
            | Self::Put(_)
            | Self::Task(_)
            | Self::Run(_)
            | Self::SetPipeline(_)
            | Self::LoadVar(_) => &[],
        }
    }

    fn visit_tagged_leaves<'a>(
        &'a self,
        around: &'a [String],
        visit: &mut impl FnMut(Leaf<'a>, &'a [String]),
    ) {
        if let Some(leaf) = self.leaf() {
            return visit(leaf, around);
        }
        let own: &[String] = match self {
            Self::Do(step) => &step.tags,
            Self::InParallel(step) => &step.tags,
            _ => &[],
        };
        let tags = if own.is_empty() { around } else { own };
        for step in self.inner() {
            step.visit_tagged_leaves(tags, visit);
        }
    }

    /// Returns the step itself if it runs something, and is not made of other steps.
    fn leaf(&self) -> Option<Leaf<'_>> {
        Some(match self {
            Self::Get(step) => Leaf::Get(step),
            Self::Put(step) => Leaf::Put(step),
            Self::Task(step) => Leaf::Task(step),
            Self::Run(step) => Leaf::Run(step),
            Self::SetPipeline(step) => Leaf::SetPipeline(step),
            Self::LoadVar(step) => Leaf::LoadVar(step),
            Self::Try(_) | Self::Do(_) | Self::InParallel(_) => return None,
        })
    }

    fn size(&self) -> u64 {
        let inner = self.inner().iter().map(Step::size);
        let inner = inner.fold(1, u64::saturating_add);
        match self {
            // The put, its get, and what ties them together.
            Self::Put(step) if !step.no_get => inner.saturating_add(2),
            _ => inner,
        }
    }

    fn depth(&self) -> usize {
        let inner = self.inner().iter().map(Step::depth).max().unwrap_or(0);
        match self {
            Self::Try(_) | Self::Do(_) | Self::Put(_) => inner + 2,
            Self::InParallel(_) => inner + 3,
            Self::Get(_)
            | Self::Task(_)
            | Self::Run(_)
            | Self::SetPipeline(_)
            | Self::LoadVar(_) => 0,
        }
    }

    /// `path` is where the step stands, with the modifiers that show in paths.
    fn check(&self, path: &str, checker: &mut Checker<'_>) {
        self.check_itself(path, checker);
        if let Some(leaf) = self.leaf() {
            checker.step_makes(leaf);
        }
    }

    fn check_itself(&self, path: &str, checker: &mut Checker<'_>) {
        match self {
            Self::Get(step) => step.check(path, checker),
            Self::Put(step) => step.check(path, checker),
            Self::Task(step) => step.check(path, checker),
            Self::Run(step) => step.check(path, checker),
            Self::SetPipeline(step) => step.check(path, checker),
            Self::LoadVar(step) => step.check(path, checker),
            Self::Try(step) => step.step.check(&format!("{path}.try"), checker),
            Self::Do(step) => check_list(&step.steps, &format!("{path}.do"), checker),
            Self::InParallel(step) => step.check(path, checker),
        }
    }

    fn plan<'a>(&'a self, planner: &mut Planner<'a>) -> Result<Plan, PlanError> {
        match self {
            Self::Get(step) => step.plan(planner),
            Self::Put(step) => step.plan(planner),
            Self::Task(step) => step.plan(planner),
            Self::Run(step) => step.plan(planner),
            Self::SetPipeline(step) => step.plan(planner),
            Self::LoadVar(step) => step.plan(planner),
            Self::Try(step) => step.plan(planner),
            Self::Do(step) => step.plan(planner),
            Self::InParallel(step) => step.plan(planner),
        }
    }
}

/// Reads one step. One that cannot be read leaves an empty `do` in its place, so that the others
/// keep their numbers.
pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Step {
    detect::read(reader, node, path).unwrap_or_else(|| {
        reader.steps_missing = true;
        Step::default()
    })
}

pub(crate) fn read_list(reader: &mut Reader, node: &Node, path: &str) -> Vec<Step> {
    let items = reader.items(node, path);
    let numbered = items.iter().enumerate();
    numbered
        .map(|(index, item)| read(reader, item, &format!("{path}[{index}]")))
        .collect()
}

pub(crate) fn check_list(steps: &[Step], path: &str, checker: &mut Checker<'_>) {
    for (index, step) in steps.iter().enumerate() {
        step.check(&format!("{path}[{index}]"), checker);
    }
}
