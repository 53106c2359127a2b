//! Nodes of the tree, as the plan has them.

use serde_json::Value;

use crate::StepFacts;

/// A node of the tree. Its children are named by their places in the picture, which are larger than
/// its own.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureNode {
    /// Id of the node in the plan, by which events name it.
    pub id: String,
    pub kind: PictureKind,
    /// Name of the step, empty for a node that only combines others.
    pub name: String,
    /// Nodes that this one combines; of a hook the step and then the hook.
    pub children: Vec<usize>,
    /// Steps that fetch the image of this step.
    pub images: Vec<usize>,
    /// Values of the variables of the `across` around this node, if it is a substep.
    pub values: Vec<Value>,
    /// Version that the plan gives a get.
    pub planned: Option<airside_model::Version>,
    pub facts: StepFacts,
}

/// The hook that a node adds to its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    OnSuccess,
    OnFailure,
    OnError,
    OnAbort,
    Ensure,
}

impl HookKind {
    pub(crate) const ALL: [Self; 5] = [
        Self::OnSuccess,
        Self::OnFailure,
        Self::OnError,
        Self::OnAbort,
        Self::Ensure,
    ];

    /// Returns the name that configurations have for the hook.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::OnError => "on_error",
            Self::OnAbort => "on_abort",
            Self::Ensure => "ensure",
        }
    }
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// A step that runs something itself: the key that configurations have for it.
    Step(&'static str),
    Do,
    InParallel,
    /// Names of the variables.
    Across(Vec<String>),
    Hook(HookKind),
    Try,
    /// The longest time that the step may take.
    Timeout(String),
    Retry,
}

impl PictureKind {
    /// Returns the name that configurations have for the kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Step(name) => name,
            Self::Do => "do",
            Self::InParallel => "in_parallel",
            Self::Across(_) => "across",
            Self::Hook(hook) => hook.name(),
            Self::Try => "try",
            Self::Timeout(_) => "timeout",
            Self::Retry => "attempts",
        }
    }

    /// Returns true if the node runs something itself.
    pub fn is_step(&self) -> bool {
        matches!(self, Self::Step(_))
    }
}
