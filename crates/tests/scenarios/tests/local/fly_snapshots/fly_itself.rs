//! Commands of fly about itself: targets, help, completion, its own update; and parts of the server
//! by name.

use airside_scenarios::{Database, ServerOptions, Transcript};

pub(crate) fn targets_and_help(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    for line in [
        "fly -t main edit-target",
        "fly -t main edit-target -n crew",
        "fly -t main edit-target --target-name other",
        "fly targets | awk '{print $1, $2, $3}'",
        "fly -t main status",
        "fly -t other edit-target -n main > /dev/null; fly -t other status",
        "fly -t none edit-target -n main",
        "fly -t other delete-target",
        "fly targets",
        "fly delete-target -a",
        "fly -t main login -c $URL -u test -p test > /dev/null",
        "fly delete-target",
        "fly help | head -n 4",
        "fly -h | tail -n 3",
        "fly land-worker --help | tail -n 4",
        "fly nonsense 2>&1 | cut -c -75",
        "fly completion --shell bash | head -n 3",
        "fly completion --shell zsh | head -n 3",
        "fly completion --shell fish | head -n 3",
        "fly completion --shell none",
    ] {
        session.run(line);
    }
    session.compare("targets_and_help");
}

pub(crate) fn parts_of_the_server(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    let pipeline = "jobs:\n- {name: j, plan: &plan [{task: t, config: {platform: linux, image_resource: \
         {type: host}, run: {path: 'true'}}}]}\n- {name: k, plan: *plan}\n";
    session.file("pipeline.yml", pipeline);
    let sweeper = "fly -t main get-components | grep sweeper | awk '{print $1, $2, $NF}'";
    for line in [
        sweeper,
        "fly -t main --print-table-headers get-components | head -n 1 | tr -s ' '",
        "fly -t main pause-component -n sweeper",
        sweeper,
        "fly -t main unpause-component -n sweeper",
        sweeper,
        "fly -t main pause-component -n none",
        "fly -t main unpause-component -n none",
        "fly -t main pause-component",
        "fly -t main pause-component --all",
        "fly -t main unpause-component --all",
        "fly -t main paused-jobs -p none",
        "fly -t main set-pipeline -n -p p -c pipeline.yml > /dev/null",
        "fly -t main paused-jobs -p p",
        "fly -t main pause-job -j p/k",
        "fly -t main paused-jobs -p p",
        "fly -t main paused-jobs -p p --json | grep -E '\"(name|paused_by)\"'",
    ] {
        session.run(line);
    }
    session.compare("parts_of_the_server");
}

pub(crate) fn updating_fly(database: Database) {
    let programs = tempfile::tempdir().unwrap();
    let (file, text) = ("fly-linux-amd64", "#!/bin/sh\necho a newer fly\n");
    std::fs::write(programs.path().join(file), text).unwrap();
    let folder = programs.path().to_str().unwrap();
    let options = ServerOptions::new().args(["--cli-dir", folder]);
    let server = database.server(options);
    let mut session = Transcript::logged_in(&server);
    for line in [
        "fly -t main sync",
        // What is replaced is a copy.
        "mkdir -p own && cp \"$(readlink -f \"$(which fly)\")\" own/fly",
        "own/fly -t main sync -f | grep -E '^(downloading|done)'",
        "own/fly",
    ] {
        session.run(line);
    }
    session.compare("updating_fly");
}
