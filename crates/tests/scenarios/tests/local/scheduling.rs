//! Versions that go from job to job by themselves, with the real engine, and with servers that die
//! meanwhile.

use std::fmt::Write;

use airside_scenarios::{Fly, Server, wait_until};

/// Puts a version, and passes it on from job to job.
fn chain(jobs: usize) -> String {
    let mut text = "
resources:
- {name: r, type: mock, source: {initial_version: v0}}
jobs:
- {name: make, plan: [{put: r, no_get: true, params: {version: v1}}]}
"
    .to_owned();
    let mut passed = "make".to_owned();
    for at in 1..=jobs {
        let _ = writeln!(
            text,
            "- {{name: j{at}, plan: [{{get: r, trigger: true, passed: [{passed}]}}]}}"
        );
        passed = format!("j{at}");
    }
    text
}

/// Every build as `job #name status`, oldest first.
fn builds(fly: &Fly) -> Vec<String> {
    let builds = fly.builds();
    let shown = builds
        .iter()
        .rev()
        .map(|build| format!("{} #{} {}", build.job_name, build.name, build.status));
    shown.collect()
}

fn all_done(jobs: usize) -> Vec<String> {
    let names = std::iter::once("make".to_owned()).chain((1..=jobs).map(|at| format!("j{at}")));
    names.map(|name| format!("{name} #1 succeeded")).collect()
}

#[test]
fn a_version_that_is_put_goes_through_all_jobs_behind() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &chain(4));
    fly.trigger_and_watch("p/make").succeeded();
    wait_until("the last job is done", || builds(&fly) == all_done(4));
}

#[test]
fn a_server_that_dies_between_jobs_neither_loses_nor_doubles_a_build() {
    let mut server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &chain(4));
    fly.trigger("p/make");
    for at in 1..=3 {
        let before = format!("j{at} #1");
        wait_until("a job has a build", || {
            builds(&fly).iter().any(|build| build.starts_with(&before))
        });
        server.kill_9();
        server.restart();
    }
    wait_until("the last job is done", || builds(&fly) == all_done(4));
}

#[test]
fn a_job_that_is_never_satisfied_says_why_and_is_aborted() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &chain(2));
    let build = fly.trigger("p/j2");
    let path = format!("/api/v1/builds/{}/preparation", build.id);
    let curl = ["curl", path.as_str()];
    wait_until("the build says what it waits for", || {
        let said = fly.run(&curl).succeeded().stdout;
        said.contains("no satisfiable builds from passed jobs found for set of inputs")
    });
    let id = build.id.to_string();
    fly.run(&["abort-build", "-b", &id]).succeeded();
    fly.watch(build.id).ended_with(3);
    assert_eq!(fly.status(build.id), "aborted");
}
