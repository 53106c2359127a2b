//! A stranger tries to do a step's work.

use std::{
    fs,
    process::{Command, Stdio},
};

use airside_scenarios::{
    Counter, Environment, Server,
    pipelines::{job, task},
    wait_for_glimpse,
};

/// Returns the environment that the runtime gives the shim of the next container. The file is there
/// for a moment only, and for root alone.
fn shim_environment(server: &Server) -> Vec<(String, String)> {
    let containers = server.data().join("runtime/containers");
    let config = wait_for_glimpse("the configuration of a container", || {
        let mut entries = fs::read_dir(&containers).ok()?.flatten();
        entries.find_map(|entry| fs::read(entry.path().join("config.json")).ok())
    });
    let config: serde_json::Value = serde_json::from_slice(&config).expect("it is JSON");
    let entries = config["process"]["env"]
        .as_array()
        .expect("it has an environment")
        .iter();
    let pairs = entries.filter_map(|entry| entry.as_str()?.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Runs a shim that has stolen the environment of another, and returns its words.
fn second_shim(server: &Server, stolen: &[(String, String)]) -> String {
    // In a process namespace of its own: a shim believes to be the first process.
    let second = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child"])
        .arg(Environment::get().airside.with_file_name("airside-shim"))
        .env_clear()
        .envs(stolen.iter().cloned())
        // Where the step has it mounted, outside it is not.
        .env(
            "AIRSIDE_HUB",
            format!("unix:{}", server.data().join("hub/socket").display()),
        )
        .env("AIRSIDE_STATE", server.home().join("second"))
        .stdin(Stdio::null())
        .output()
        .expect("unshare runs");
    assert!(!second.status.success());
    String::from_utf8_lossy(&second.stderr).into_owned()
}

#[test]
fn a_second_shim_with_the_right_token_is_refused_and_named_in_the_build() {
    let server = Server::start();
    let fly = server.fly();
    let counter = Counter::start();
    fly.pipeline("p", &job(&[task("work", "", &counter.bump("work"))]));
    counter.hold("work");
    let watching = fly.spawn(&["trigger-job", "-j", "p/job", "-w"]);
    let stolen = shim_environment(&server);
    counter.wait("work", 1);

    // However often it tries, the build says it once.
    for _ in 0..2 {
        let words = second_shim(&server, &stolen);
        assert!(words.contains("another instance has it"), "{words}");
    }

    counter.release("work");
    let output = watching.wait().succeeded();
    let told = output.stdout.matches("a claim of this step was refused");
    assert_eq!(told.count(), 1, "{}", output.stdout);
    assert_eq!(counter.count("work"), 1);
}
