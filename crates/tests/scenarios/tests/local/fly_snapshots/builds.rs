//! Builds: triggered, watched, listed, aborted, and what they leave: containers, volumes, caches.

use airside_scenarios::{Database, Transcript};

/// Nothing is checked by itself, so that no build comes from there.
const PIPELINE: &str = "
resources:
- {name: r, type: mock, check_every: never, source: {initial_version: v1}}
jobs:
- name: greet
  plan:
  - task: greet
    config: &with
      platform: linux
      image_resource: {type: host}
      run: {path: sh, args: [-c, 'echo hello; echo oh >&2']}
- name: cached
  plan:
  - task: fill
    config: {<<: *with, caches: [{path: kept}], run: {path: sh, args: [-c, 'echo x > kept/x']}}
- name: fail
  plan:
  - put: r
    params: {version: v2}
  - task: work
    config: {<<: *with, outputs: [{name: made}], run: {path: sh, args: [-c, 'echo left > made/file; exit 7']}}
- name: err
  plan:
  - task: nowhere
    tags: [nowhere]
    config: *with
- name: slow
  plan:
  - task: slow
    config: {<<: *with, run: {path: sh, args: [-c, 'echo begun; exec sleep 600']}}
";

/// The table without times and numbers that differ from run to run.
const TABLE: &str = "sed -E 's/^[0-9]+ +//; s/[0-9-]{10}@[0-9:]+[+]0000/<time>/g; s/ +([0-9]+m)?[0-9]+s /  <took> /'";

fn with_pipeline(server: &airside_scenarios::Server) -> Transcript {
    let session = Transcript::logged_in(server);
    session.file("pipeline.yml", PIPELINE);
    for line in [
        "fly -t main set-pipeline -n -p p -c pipeline.yml",
        "fly -t main unpause-pipeline -p p",
    ] {
        session.quietly(line).succeeded();
    }
    session
}

pub(crate) fn builds_from_trigger_to_end(database: Database) {
    let server = super::server(database);
    let mut session = with_pipeline(&server);
    for line in [
        "fly -t main trigger-job -j p/greet",
        "fly -t main watch -j p/greet",
        "fly -t main watch -j p/greet -b 1 --timestamps | sed -E 's/^[0-9:]{8}/<time>/'",
        "fly -t main watch -j p/greet -b 1 --ignore-event-parsing-errors | tail -n 1",
        "fly -t main trigger-job -j p/greet -w",
        "fly -t main trigger-job -j p/fail -w | tail -n 1",
        "fly -t main trigger-job -j p/fail -w > /dev/null",
        "fly -t main trigger-job -j p/err -w",
        "fly -t main trigger-job -j p/none",
        "fly -t main trigger-job -j none/greet",
        "fly -t main watch -j p/none",
        "fly -t main watch -j p/greet -b 9",
        "fly -t main rerun-build -j p/greet -b 1 -w | tail -n 1",
        &format!("fly -t main builds -j p/greet | {TABLE}"),
        &format!("fly -t main builds -p p -c 2 | {TABLE}"),
        &format!("fly -t main --print-table-headers builds -j p/err | {TABLE}"),
        "fly -t main builds -j p/err --json | sed -E 's/: [0-9]+,/: <n>,/; s,builds/[0-9]+,builds/<n>,'",
        "fly -t main builds -j p/none",
        "fly -t main builds -p none",
        "fly -t main builds -j p/err --since '2100-01-01 00:00:00'",
        "fly -t main builds --since yesterday",
    ] {
        session.run(line);
    }
    session.compare("builds_from_trigger_to_end");
}

pub(crate) fn aborting_builds(database: Database) {
    let server = super::server(database);
    let mut session = with_pipeline(&server);
    for line in [
        "fly -t main trigger-job -j p/slow",
        "fly -t main abort-build -j p/slow -b 1",
        "fly -t main watch -j p/slow -b 1 | tail -n 1",
        "fly -t main watch -j p/slow -b 1 > /dev/null",
        "fly -t main abort-build -j p/slow -b 1",
        "fly -t main abort-build -j p/slow -b 9",
        "fly -t main abort-build -b 999999",
        "fly -t main abort-build",
    ] {
        session.run(line);
    }
    session.compare("aborting_builds");
}

pub(crate) fn what_builds_leave(database: Database) {
    let server = super::server(database);
    let mut session = with_pipeline(&server);
    for line in [
        "fly -t main containers",
        "fly -t main volumes",
        "fly -t main trigger-job -j p/fail -w > /dev/null",
        "fly -t main containers | sed -E 's/^[^ ]+/<handle>/; s/(fail  1)  [0-9]+/\\1  <n>/' | sort",
        "fly -t main --print-table-headers containers | head -n 1 | tr -s ' '",
        "fly -t main containers --json | grep -E '\"(type|step_name|job_name|state)\"' | sort | uniq -c",
        "fly -t main volumes | awk '{print $2, $3, $4}' | sed -E 's/s-[0-9a-f]+/<handle>/'",
        "fly -t main --print-table-headers volumes | head -n 1 | tr -s ' '",
        "fly -t main volumes --json | grep '\"type\"' | sort | uniq -c",
        "fly -t main hijack -j p/fail -s work -- sh -c 'cat made/file; exit 3'",
        "fly -t main intercept -j p/fail -b 1 -s work -- no-such-program",
        "fly -t main hijack -j p/fail -s none -- true",
        "fly -t main hijack -j p/greet -s greet -- true",
        "fly -t main clear-task-cache -j p/cached -s fill -n",
        "fly -t main trigger-job -j p/cached -w | tail -n 1",
        "fly -t main clear-task-cache -j p/cached -s fill -c other -n",
        "fly -t main clear-task-cache -j p/cached -s fill -c kept -n",
        "fly -t main clear-task-cache -j p/none -s fill -n",
    ] {
        session.run(line);
    }
    session.compare("what_builds_leave");
}

pub(crate) fn executing_tasks(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    session.file(
        "task.yml",
        "platform: linux\nimage_resource: {type: host}\ninputs: [{name: in}]\noutputs: [{name: out}]\n\
         params: {WORD: nothing}\nrun: {path: sh, args: [-c, 'cat in/file; echo $WORD $0 | tee out/said']}\n",
    );
    session.file("bad.yml", "platform: linux\nrun: {}\n");
    let masked = "sed -E 's/build [0-9]+ at/build <n> at/; s,builds/[0-9]+,builds/<n>,'";
    for line in [
        "mkdir -p in out && echo from the file > in/file",
        &format!("fly -t main execute -c task.yml -i in=in | {masked}"),
        &format!(
            "WORD=given fly -t main execute -c task.yml -i in=in -o out=out -- more | {masked}"
        ),
        "cat out/said",
        "fly -t main execute -c task.yml",
        &format!("fly -t main execute -c bad.yml | {masked}"),
        "fly -t main execute -c none.yml",
        "fly -t main execute -c task.yml -i in=none",
    ] {
        session.run(line);
    }
    session.compare("executing_tasks");
}
