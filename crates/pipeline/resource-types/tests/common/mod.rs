//! The door that the shim uses: JSON in, JSON and an exit status out. And a real repository to look
//! at.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

pub mod gcs_server;
pub mod git_server;
pub mod github_server;
pub mod http;
pub mod image;
pub mod kube_server;
pub mod registry;
pub mod repository;
pub mod s3_server;
pub mod sshd;

use std::path::Path;

use serde_json::Value;

pub struct Ran {
    pub status: i32,
    pub answer: Value,
    pub log: String,
}

impl Ran {
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 0, "{}", self.log);
        self.answer
    }

    /// Checks that it failed with these words, and answered nothing.
    pub fn fails_with(self, words: &str) {
        assert_eq!(self.status, 1, "{}", self.log);
        assert!(self.log.contains(words), "{words}: {}", self.log);
        assert_eq!(self.answer, Value::Null);
    }
}

pub fn run(args: &[&str], request: Value) -> Ran {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let input = request.to_string();
    let status =
        airside_resource_types::main(&args, &mut input.as_bytes(), &mut stdout, &mut stderr);
    Ran {
        status,
        answer: serde_json::from_slice(&stdout).unwrap_or_default(),
        log: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// One resource type.
pub struct Type(pub &'static str);

impl Type {
    pub fn check(&self, request: Value) -> Ran {
        run(&[self.0, "check"], request)
    }

    pub fn fetch(&self, dest: &Path, request: Value) -> Ran {
        run(&[self.0, "in", dest.to_str().unwrap()], request)
    }

    pub fn push(&self, src: &Path, request: Value) -> Ran {
        run(&[self.0, "out", src.to_str().unwrap()], request)
    }
}
