//! Steps that nest folders deeper than a server may open files.

use std::fs;

use airside_scenarios::{Server, pipelines, wait_until};

/// A tree of three thousand folders, one in the other.
const NEST: &str = "deep=$(printf 'd/%.0s' $(seq 1500)); cd out; for i in 1 2; do mkdir -p $deep && cd $deep || exit 1; done";

#[test]
fn hostile_a_server_starts_over_a_tree_that_is_too_deep() {
    let mut server = Server::start();
    let fly = server.fly();
    let task = pipelines::task("t", "outputs: [{name: out}]", NEST);
    fly.pipeline("p", &pipelines::job(&[task]));
    fly.trigger_and_watch("p/job").succeeded();
    server.stop();
    // A removal that was cut off leaves this; an earlier server could not start over it.
    let volumes = server.data().join("volumes");
    let mut live = fs::read_dir(volumes.join("live")).unwrap().flatten();
    let deep = live.find(|volume| volume.path().join("d/d/d").exists());
    fs::rename(deep.unwrap().path(), volumes.join("tmp/deep")).unwrap();
    server.restart();
    wait_until("the rubbish is gone", || {
        let left = fs::read_dir(&volumes).unwrap().flatten();
        !left
            .map(|entry| entry.file_name())
            .any(|name| name.to_string_lossy().starts_with("tmp.old-"))
    });
}
