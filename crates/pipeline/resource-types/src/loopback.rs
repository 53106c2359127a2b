//! A word of help for people whose server listens on loopback: a step has a loopback of its own.
//!
//! The connection that failed is known by its address and its error, never by a message.

pub(crate) const HINT: &str = "In a step, loopback is the step itself and not the machine that Airside runs on. Give an address of the \
    machine, or, for steps on this machine, start Airside with --local-network machine";
