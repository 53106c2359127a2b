//! Stages and stand-ins that the tests of images share.

pub(crate) mod admission;
pub(crate) mod agent;
pub(crate) mod ghost;
pub(crate) mod installed;
pub(crate) mod metrics;
pub(crate) mod mirror;
pub(crate) mod operator;
pub(crate) mod shelf;
