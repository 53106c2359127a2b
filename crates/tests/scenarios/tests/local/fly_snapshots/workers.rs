//! Workers: listed, landed, pruned, brought back.

use airside_scenarios::{Database, Transcript};

/// The table without how old a worker is.
const TABLE: &str = "sed -E 's/ [0-9hms]+ *$/ <age>/'";
const BACK: &str =
    "fly -t main curl /api/v1/workers -- -sS --fail -X POST -d '{\"name\": \"local\"}'";

pub(crate) fn workers_come_and_go(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    let list = format!("fly -t main workers | {TABLE}");
    for line in [
        &list,
        &format!("fly -t main --print-table-headers workers | {TABLE}"),
        "fly -t main workers -d | sed -E 's/ [0-9]+[hms]+ / <age> /'",
        "fly -t main workers --json | grep -v -E '\"(image|version|privileged|unique_version_history)\"'",
        "fly -t main prune-worker -w local",
        "fly -t main prune-worker -w nobody",
        "fly -t main prune-worker",
        "fly -t main prune-worker --all-stalled",
        "fly -t main land-worker -w nobody",
        "fly -t main land-worker",
        "fly -t main land-worker -w local",
        "fly -t main land-worker -w local",
        &list,
        "fly -t main health | head -n 3 | awk '{print $1, $2}'",
        BACK,
        &list,
        "fly -t main land-worker -w local",
        "fly -t main prune-worker -w local",
        &list,
        "fly -t main prune-worker -w local",
        BACK,
        "fly -t main curl /api/v1/workers/local/retire -- -sS --fail -X PUT",
        &list,
        BACK,
        &list,
        "fly -t main curl /api/v1/workers -- -sS -X POST -d '{\"name\": \"garden\"}'; echo",
    ] {
        session.run(line);
    }
    session.compare("workers_come_and_go");
}

pub(crate) fn workers_of_others(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    for line in [
        "fly -t main set-team -n crew --local-user bob --non-interactive > /dev/null",
        "fly -t crew login -c $URL -n crew -u bob -p bob > /dev/null",
        "fly -t crew land-worker -w local",
        "fly -t crew prune-worker -w local",
        "fly -t crew workers | awk '{print $1, $6}'",
    ] {
        session.run(line);
    }
    session.compare("workers_of_others");
}
