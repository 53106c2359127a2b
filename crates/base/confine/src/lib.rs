//! A process confines itself before it runs a program that is not trusted: it gives up capabilities
//! for good, and system calls that ordinary programs do not make.
//!
//! The shim does so for a step's process, the check process for itself. **Invariant:**
//! [`Capabilities`] and [`Filter`] make only system calls, so that they may run between fork and
//! exec.
//!
//! [`Interfaces`] configures the network of a container, for the runtimes that make one.

#![allow(
    unsafe_code,
    reason = "capabilities, filters and interfaces are system calls without a safe wrapper"
)]

mod capabilities;
mod filter;
mod interfaces;
mod syscalls;

pub use capabilities::Capabilities;
pub use filter::Filter;
pub use interfaces::Interfaces;
