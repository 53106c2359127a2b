//! Judges from a Kubernetes object's JSON whether its controller is done with it.
//!
//! Kinds report their end in many ways: conditions, phases, counts of replicas. [`judge()`] knows
//! the rules of Kubernetes' own kinds and the conventions that most controllers keep, and takes
//! tests of its caller for all others. `path` reads fields, `field_test` compares them, `kinds`
//! has the rules of single kinds.
//!
//! **Invariants:** no I/O and no clock; no object causes a panic; time and memory are bounded by
//! the object's size; what an object says is cut and escaped before it is part of a verdict.

mod conditions;
mod field_test;
mod generation;
mod judge;
mod kinds;
mod path;
mod verdict;

pub use field_test::{BadFieldTest, FieldTest, FieldTestForm};
pub use judge::{StatusRules, judge};
pub use path::{BadFieldPath, FieldPath, NoSuchField};
pub use verdict::{ObjectVerdict, printable};
