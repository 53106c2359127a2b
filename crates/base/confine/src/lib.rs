//! What a process takes from itself before it runs something that is not trusted: capabilities that it may
//! never have again, and system calls that nobody ordinary makes.
//!
//! The shim does so for a step's process, the checker for itself. **Invariant:** what these functions do is
//! only system calls, so that they may run between fork and exec.

mod capabilities;
mod filter;
mod syscalls;

pub use capabilities::Capabilities;
pub use filter::Filter;
