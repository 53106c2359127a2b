//! The helper that makes containers, as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    airside_runtime_local::helper::main(std::env::args_os().skip(1))
}
