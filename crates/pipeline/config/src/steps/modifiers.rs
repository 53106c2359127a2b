//! The modifiers of a step: timeout, attempts, across and hooks.
//!
//! Whatever the order in the text, they are applied from the inside out as
//! `timeout`, `attempts`, `across`, `on_success`, `on_failure`, `on_abort`, `on_error`, `ensure`.

use airside_model::plan::{
    EnsurePlan, OnAbortPlan, OnErrorPlan, OnFailurePlan, OnSuccessPlan, TimeoutPlan,
};
use airside_model::{Plan, PlanNode};
use serde::{Deserialize, Serialize};

use super::across::{self, AcrossVar};
use super::{Core, CoreShape, Step};
use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modifiers {
    /// Timeout of steps whose own fields have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<Vec<AcrossVar>>,
    /// True if one failure ends the other substeps of `across`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_success: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_abort: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensure: Option<Box<Step>>,
}

/// Fields that every step may have.
pub(crate) static SHAPE: Shape = Shape {
    name: "modifiers",
    doc: "Modifiers of any step.",
    fields: &[
        Field::new(
            "attempts",
            Kind::Positive,
            "Number of attempts until the step succeeds.",
        ),
        Field::new(
            "on_success",
            Kind::Step,
            "A step for when this one succeeded.",
        ),
        Field::new("on_failure", Kind::Step, "A step for when this one failed."),
        Field::new(
            "on_abort",
            Kind::Step,
            "A step for when the build was aborted.",
        ),
        Field::new("on_error", Kind::Step, "A step for when this one erred."),
        Field::new(
            "ensure",
            Kind::Step,
            "A step for afterwards, whatever happened.",
        ),
    ],
};

/// Fields of steps whose own shape has no timeout.
pub(crate) static TIMEOUT: Shape = Shape {
    name: "timeout",
    doc: "A limit for the whole step.",
    fields: &[Field::new(
        "timeout",
        Kind::WrittenDuration,
        "Timeout of the step.",
    )],
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    OnSuccess,
    OnFailure,
    OnAbort,
    OnError,
    Ensure,
}

impl Hook {
    /// Innermost first.
    const ALL: [Self; 5] = [
        Self::OnSuccess,
        Self::OnFailure,
        Self::OnAbort,
        Self::OnError,
        Self::Ensure,
    ];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::OnAbort => "on_abort",
            Self::OnError => "on_error",
            Self::Ensure => "ensure",
        }
    }

    /// Returns the hooks that are present; `steps` must be in the order of [`Hook::ALL`].
    pub(crate) fn pair(steps: [&Option<Box<Step>>; 5]) -> impl Iterator<Item = (Self, &Step)> {
        let pairs = Self::ALL.into_iter().zip(steps);
        pairs.filter_map(|(hook, step)| Some((hook, step.as_deref()?)))
    }

    fn node(self, step: Plan, hook: Plan) -> PlanNode {
        let (step, hook) = (Box::new(step), Box::new(hook));
        match self {
            Self::OnSuccess => PlanNode::OnSuccess(OnSuccessPlan {
                step,
                on_success: hook,
            }),
            Self::OnFailure => PlanNode::OnFailure(OnFailurePlan {
                step,
                on_failure: hook,
            }),
            Self::OnAbort => PlanNode::OnAbort(OnAbortPlan {
                step,
                on_abort: hook,
            }),
            Self::OnError => PlanNode::OnError(OnErrorPlan {
                step,
                on_error: hook,
            }),
            Self::Ensure => PlanNode::Ensure(EnsurePlan { step, ensure: hook }),
        }
    }
}

/// The modifiers' keys for a kind of step.
pub(crate) fn names(core: &CoreShape) -> impl Iterator<Item = &'static str> {
    let timeout = (!core.own_timeout).then_some("timeout");
    let across = across::SHAPE.names();
    SHAPE.names().chain(across).chain(timeout)
}

/// `fields` has the path of the place, without the step's name.
pub(super) fn read(fields: &mut Fields<'_, '_>, core: &CoreShape) -> Modifiers {
    let mut modifiers = Modifiers {
        attempts: read_attempts(fields),
        ..Modifiers::default()
    };
    if !core.own_timeout {
        fields.allow(&TIMEOUT);
        modifiers.timeout = fields.duration_now("timeout", &[]);
        if fields.has("timeout") && modifiers.timeout.is_empty() {
            fields.complain("timeout", "invalid duration ''");
        }
    }
    if fields.has("across") {
        fields.allow(&across::SHAPE);
        modifiers.across = Some(across::read(fields));
        modifiers.fail_fast = fields.flag("fail_fast");
    }
    modifiers.on_success = read_step_hook(fields, Hook::OnSuccess);
    modifiers.on_failure = read_step_hook(fields, Hook::OnFailure);
    modifiers.on_abort = read_step_hook(fields, Hook::OnAbort);
    modifiers.on_error = read_step_hook(fields, Hook::OnError);
    modifiers.ensure = read_step_hook(fields, Hook::Ensure);
    modifiers
}

fn read_attempts(fields: &mut Fields<'_, '_>) -> Option<u32> {
    let problems = fields.reader.problems.len();
    let attempts = fields.integer("attempts");
    if !fields.has("attempts") {
        return None;
    }
    let valid = u32::try_from(attempts).ok().filter(|count| *count > 0);
    if valid.is_none() && fields.reader.problems.len() == problems {
        fields.complain("attempts", "must be greater than 0");
    }
    valid
}

/// A step's hook must be there if it is named; a job's may be null.
fn read_step_hook(fields: &mut Fields<'_, '_>, hook: Hook) -> Option<Box<Step>> {
    let step = read_hook(fields, hook, |fields| fields.path.clone());
    if step.is_none() && fields.has(hook.key()) {
        fields.complain(hook.key(), "no step configured");
    }
    step
}

/// `path` is what the hook's path begins with.
pub(crate) fn read_hook<'r, 'n>(
    fields: &mut Fields<'r, 'n>,
    hook: Hook,
    path: impl FnOnce(&Fields<'r, 'n>) -> String,
) -> Option<Box<Step>> {
    let node = fields.take(hook.key())?;
    let path = format!("{}.{}", path(fields), hook.key());
    Some(Box::new(super::read(fields.reader, node, &path)))
}

impl Modifiers {
    /// Innermost first.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = (Hook, &Step)> {
        Hook::pair([
            &self.on_success,
            &self.on_failure,
            &self.on_abort,
            &self.on_error,
            &self.ensure,
        ])
    }

    pub(super) fn check(&self, core: &Core, path: &str, checker: &mut Checker<'_>) {
        match &self.across {
            Some(vars) => across::check(vars, core, path, checker),
            None => core.check(path, checker),
        }
        check_hooks(self.hooks(), path, checker);
    }

    pub(super) fn size(&self, core: u64) -> u64 {
        let timed = core.saturating_add(u64::from(!self.timeout.is_empty()));
        let tried = match self.attempts {
            Some(attempts) => timed.saturating_mul(attempts.into()).saturating_add(1),
            None => timed,
        };
        let across = tried.saturating_add(u64::from(self.across.is_some()));
        let hooks = self.hooks().map(|(_, hook)| hook.size().saturating_add(1));
        hooks.fold(across, u64::saturating_add)
    }

    /// Every node around the step is two levels of JSON.
    pub(super) fn depth(&self, core: usize) -> usize {
        let around = [
            !self.timeout.is_empty(),
            self.attempts.is_some(),
            self.across.is_some(),
        ];
        let around = around.into_iter().filter(|set| *set).count();
        let hooks = self.hooks().map(|(_, hook)| hook.depth());
        hooks.fold(core + 2 * around, |depth, hook| depth.max(hook) + 2)
    }

    pub(super) fn plan<'a>(
        &'a self,
        core: &'a Core,
        planner: &mut Planner<'a>,
    ) -> Result<Plan, PlanError> {
        let mut plan = self.plan_attempts(core, planner)?;
        if let Some(vars) = &self.across {
            plan = across::plan(vars, self.fail_fast, &plan, planner)?;
        }
        plan_hooks(plan, self.hooks(), planner)
    }

    fn plan_attempts<'a>(
        &'a self,
        core: &'a Core,
        planner: &mut Planner<'a>,
    ) -> Result<Plan, PlanError> {
        let Some(attempts) = self.attempts else {
            return self.plan_timeout(core, planner);
        };
        let plans = (0..attempts).map(|_| self.plan_timeout(core, planner));
        let plans = plans.collect::<Result<_, _>>()?;
        planner.node(PlanNode::Retry(plans))
    }

    fn plan_timeout<'a>(
        &'a self,
        core: &'a Core,
        planner: &mut Planner<'a>,
    ) -> Result<Plan, PlanError> {
        let plan = core.plan(planner)?;
        if self.timeout.is_empty() {
            return Ok(plan);
        }
        planner.node(PlanNode::Timeout(TimeoutPlan {
            step: Box::new(plan),
            duration: self.timeout.clone(),
        }))
    }
}

pub(crate) fn check_hooks<'a>(
    hooks: impl Iterator<Item = (Hook, &'a Step)>,
    path: &str,
    checker: &mut Checker<'_>,
) {
    for (hook, step) in hooks {
        step.check(&format!("{path}.{}", hook.key()), checker);
    }
}

pub(crate) fn plan_hooks<'a>(
    plan: Plan,
    hooks: impl Iterator<Item = (Hook, &'a Step)>,
    planner: &mut Planner<'a>,
) -> Result<Plan, PlanError> {
    hooks.into_iter().try_fold(plan, |plan, (hook, step)| {
        let hook_plan = step.plan(planner)?;
        planner.node(hook.node(plan, hook_plan))
    })
}
