//! The confined processes of the image store, as a program of their own.

use std::process::ExitCode;

fn main() -> ExitCode {
    airside_rootfs::puller::main(std::env::args_os().skip(1))
}
