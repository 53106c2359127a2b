//! A process confines itself before it runs a program that is not trusted: it gives up capabilities
//! for good, and system calls that ordinary programs do not make.
//!
//! The shim does so for a step's process, the check process for itself. **Invariant:** these
//! functions make only system calls, so that they may run between fork and exec.

mod capabilities;
mod filter;
mod syscalls;

pub use capabilities::Capabilities;
pub use filter::Filter;
