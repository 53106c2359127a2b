//! A resource type as a program: `<type> check`, `<type> in <folder>`, `<type> out <folder>`, with
//! the request on standard input, the answer on standard output and the log on standard error.

use std::{
    io::{Read, Write},
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{Failure, Privilege, check, fetch, git, loopback, push};

/// The arguments make no sense.
const USAGE: i32 = 2;

/// Runs one action in a step's own container, with the keys of its environment, and returns the
/// exit status.
pub fn main(
    args: &[String],
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> i32 {
    crate::aws::trust_environment();
    crate::kubernetes::trust_service_account();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let answer = match args[..] {
        [type_, "check"] => request(stdin)
            .and_then(|request| check(type_, request, Privilege::of_this_process(), stderr))
            .and_then(json),
        [type_, "in", dest] => request(stdin)
            .and_then(|request| fetch(type_, request, Path::new(dest), stderr))
            .and_then(json),
        [type_, "out", src] => request(stdin)
            .and_then(|request| push(type_, request, Path::new(src), stderr))
            .and_then(json),
        ["git", "tunnel", file, host, port] => {
            return match git::tunnel(Path::new(file), host, port) {
                Ok(()) => 0,
                Err(error) => {
                    let _ = writeln!(stderr, "{error}");
                    1
                }
            };
        }
        _ => {
            let _ = writeln!(
                stderr,
                "usage: <type> check | <type> in <folder> | <type> out <folder>"
            );
            return USAGE;
        }
    };
    let written = answer.and_then(|text| {
        writeln!(stdout, "{text}")
            .and_then(|()| stdout.flush())
            .map_err(Failure::io(Path::new("standard output")))
    });
    match written {
        Ok(()) => 0,
        Err(failure) => {
            // There is nowhere to go with an error about the log itself.
            let _ = writeln!(stderr, "{failure}");
            if failure.is_refused_on_loopback() {
                let _ = writeln!(stderr, "{}", loopback::HINT);
            }
            1
        }
    }
}

fn request<T: DeserializeOwned>(stdin: &mut dyn Read) -> Result<T, Failure> {
    serde_json::from_reader(stdin).map_err(Failure::Request)
}

fn json(answer: impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(&answer).map_err(Failure::Request)
}
