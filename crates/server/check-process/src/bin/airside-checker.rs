//! The confined process that answers checks, as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    airside_check_process::serve::main(std::env::args_os().skip(1))
}
