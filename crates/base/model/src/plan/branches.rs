//! Nodes that combine other nodes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Plan;
use crate::null::null_is_default;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InParallelPlan {
    /// `fly execute` writes null for a task without inputs.
    #[serde(default, deserialize_with = "null_is_default")]
    pub steps: Vec<Plan>,
    /// Number of branches that may run at once; none or zero means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
}

/// The most combinations of values that an `across` may have, with those of the `across` steps
/// around it.
pub const MOST_COMBINATIONS: u64 = 10_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcrossPlan {
    pub vars: Vec<AcrossVar>,
    /// The JSON of the plan for one combination of values, its variables not yet filled in.
    pub substep_template: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcrossVar {
    pub name: String,
    /// A list, or a variable that is one.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub values: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<MaxInFlight>,
}

/// Number of values of an across variable that may be worked on at once; one by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxInFlight {
    All,
    Limit(u32),
}

impl Serialize for MaxInFlight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Limit(limit) => serializer.serialize_u32(*limit),
        }
    }
}

impl<'de> Deserialize<'de> for MaxInFlight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Limit(u32),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Limit(limit) => Ok(Self::Limit(limit)),
            Written::Word(word) if word == "all" => Ok(Self::All),
            Written::Word(_) => Err(serde::de::Error::custom("expected `all` or a number")),
        }
    }
}

macro_rules! hook {
    ($($(#[$doc:meta])* $plan:ident, $hook:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct $plan {
            pub step: Box<Plan>,
            pub $hook: Box<Plan>,
        }
    )*};
}

hook! {
    /// Goes on with the hook if the step succeeds.
    OnSuccessPlan, on_success;
    /// Runs the hook if the step fails; an error is not a failure.
    OnFailurePlan, on_failure;
    /// Runs the hook if the step is asked to stop.
    OnAbortPlan, on_abort;
    /// Runs the hook if the step errs.
    OnErrorPlan, on_error;
    /// Runs the hook however the step ends.
    EnsurePlan, ensure;
}

/// Succeeds even if its step does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TryPlan {
    pub step: Box<Plan>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeoutPlan {
    pub step: Box<Plan>,
    pub duration: String,
}
