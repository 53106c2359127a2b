//! The helper that makes containers, as a program of its own; with `puller` as its first argument,
//! the confined processes of the image store.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    match args.next_if(|first| first == "puller") {
        Some(_) => airside_rootfs::puller::main(args),
        None => airside_runtime_local::helper::main(args),
    }
}
