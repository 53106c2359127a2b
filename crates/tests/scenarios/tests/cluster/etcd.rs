//! A cluster keeps none of a build's secrets. Needs a cluster: see `make test-cluster-all`.

use std::process::Command;

use crate::{
    control::Controlled,
    support::{Namespace, WORKER, cluster, task},
};
use airside_scenarios::{Counter, secrecy::SECRET, wait_until};

/// A secret in each place of a pipeline that a pod gets to see.
fn pipeline(first: &str) -> String {
    let step = task(
        "use",
        &format!("{first}; echo {SECRET} >/dev/null; test $WORD = {SECRET}"),
        &format!("      params: {{WORD: {SECRET}}}\n"),
    );
    format!(
        "resources:\n\
         - {{name: src, type: mock, tags: [{WORKER}], source: {{force_version: v1, log: {SECRET}}}}}\n\
         - {{name: out, type: mock, tags: [{WORKER}], source: {{initial_version: x, log: {SECRET}}}}}\n\
         jobs:\n- name: build\n  plan:\n  - get: src\n    tags: [{WORKER}]\n    params: {{create_files_via_params: {{f: {SECRET}}}}}\n{step}\
         \x20 - put: out\n    tags: [{WORKER}]\n    params: {{version: {SECRET}}}\n"
    )
}

/// The files in which etcd keeps a text: every object as it is, and as each was, for what is
/// deleted stays in its log for a while.
fn etcd_files_with(text: &str) -> Vec<String> {
    let found = Command::new("grep")
        .args(["-rlaF", text, cluster(&["etcd-data"]).trim()])
        .output()
        .expect("grep runs");
    let files = String::from_utf8(found.stdout).unwrap();
    files.lines().map(str::to_owned).collect()
}

#[test]
fn no_secret_of_a_build_is_ever_in_etcd() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline("p", &pipeline(&counter.bump("task")));
    counter.hold("task");
    let watching = fly.spawn(&["trigger-job", "-j", "p/build", "-w"]);
    counter.wait("task", 1);
    let pod = namespace
        .kubectl(&["get", "pods", "-l", "airside.dev/kind=task", "-o", "name"])
        .trim()
        .trim_start_matches("pod/")
        .to_owned();
    assert!(!etcd_files_with(&pod).is_empty(), "{pod} is to be found");
    assert_eq!(etcd_files_with(SECRET), Vec::<String>::new());
    counter.release("task");
    watching.wait().succeeded();
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
    assert_eq!(etcd_files_with(SECRET), Vec::<String>::new());
}

#[test]
fn no_secret_of_a_judged_pipeline_is_ever_in_etcd() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    fly.pipeline("judged", &pipeline("true"));
    wait_until("the pipeline is shown", || {
        controlled.field("pipe/judged", "{.status.setBy}") == "Server"
    });
    let uid = controlled.field("pipe/judged", "{.metadata.uid}");
    assert!(!etcd_files_with(&uid).is_empty(), "{uid} is to be found");
    assert_eq!(etcd_files_with(SECRET), Vec::<String>::new());
}
